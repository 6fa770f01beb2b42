"""The proof: does a store, or one run of it, agree with itself, with its log and with the key that signed it?

Rules kept here:
- Goes on after the first error and names every bad seq; never writes; follows no path that it finds in what it reads.
- Everything is read in one moment, however many processes read, so a store in use verifies; no writer waits for it.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from store import database, naming
from store.core.errors import StoreUnusable, UnknownRun
from store.database.connection import Connection
from store.verify import anchors, annotations, crew, family, heads, ledger, proven
from store.verify import held as holding
from store.verify import run as run_check
from store.verify.backlog import Backlog, Progress
from store.verify.crew import Crew
from store.verify.deep import UNCHECKED
from store.verify.demands import Hearing, Span
from store.verify.records import Extent, Records, SqliteRecords
from store.verify.run import Told, Verified
from store.verify.terms import USUAL, Terms
from store.verify.verdict import LIMITS, Finding, Tally, Verdict, first_bad

__all__ = ["LIMITS", "Finding", "Progress", "Terms", "Verdict", "first_bad", "verify", "verify_records"]

_RUN_ID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

# Flags that are printed with their counts. A catalogue that does not fit the events proves nothing, and can be made
# again; but people find runs by it.
_COUNTED = (
    "OPEN_RUN",
    "UNSEALED_TAIL",
    "PAYLOADS_ERASED",
    "RUNS_PRUNED",
    "PAYLOADS_LOCKED",
    "GAPS",
    "IMPORTED",
    "STALE_CATALOGUE",
    "PARTIAL_LOG",
    "PAYLOADS_WITHHELD",
    UNCHECKED,
)

type Check = Callable[[Sequence[str], ledger.Ledger, Told], Iterator[Verified]]


@dataclass(slots=True)
class _Bar:
    """Counts events for whoever waits; that there are `total` is what the catalogue says, and no more."""

    progress: Progress | None
    total: int
    done: int = 0

    def add(self, events: int) -> None:
        """So many more are done."""
        self.done += events
        if self.progress is not None:
            self.progress(self.done, max(self.done, self.total))


def verify(
    folder: Path,
    keys: Path,
    word: str | None = None,
    terms: Terms = USUAL,
    progress: Progress | None = None,
    *,
    jobs: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Verdict:
    """Verifies the run that `word` means, or the whole store.

    `progress(done, total)` is told of events; `jobs` is how many processes work at it, as many as it is worth for
    None; `say` is given what somebody who waits should know; `keys` is the folder of the store key: without it bodies
    stay unopened. Raises StoreUnusable, UnknownRun.
    """
    with (
        database.explained(folder),
        contextlib.closing(crew.opened(folder)) as connection,
        contextlib.ExitStack() as stack,
    ):
        database.begin_to_read(connection)
        run = None if word is None else _named(connection, word)
        check = None
        wanted = 1 if run is not None or database.is_served(folder) else jobs or crew.worthwhile(folder)
        if wanted > 1:
            team = stack.enter_context(Crew(folder, keys, connection, wanted, terms.rules))
            check = team.check if team.begin() else None
        told = Backlog(folder, say).watched(progress)
        verdict = verify_records(SqliteRecords(connection, keys), run, terms, told, check=check)
        if run is None and verdict.is_sound:
            _check_file(connection, folder)
        return verdict


def verify_records(
    records: Records,
    run: str | None = None,
    terms: Terms = USUAL,
    progress: Progress | None = None,
    *,
    tally: Tally | None = None,
    check: Check | None = None,
) -> Verdict:
    """Verifies records, wherever they come from: all runs, or one by its id. `tally` holds what was found before.

    `check` verifies the runs, if not this process alone does.
    """
    tally, extent, policy = tally or Tally(), records.extent, terms.policy
    log = (ledger if extent.whole_log else proven).check(records, tally, terms.pins)
    vouched = None if terms.held is None else holding.check(terms.held, log, tally)
    if extent.runs is None:  # of a bundle, whoever made it has signed more since
        holding.check_memory(terms.signed, log, tally)
    hearing = Hearing(policy, anchors.check(extent, log, policy, tally), log, vouched)
    catalogue = records.catalogue()
    claimed = log.runs if extent.runs is None else extent.runs
    runs = sorted({*records.runs(), *claimed, *(catalogue or ())}) if run is None else [run]
    events = kept = 0
    remarks = annotations.strays(sorted(records.annotated() - set(runs)) if run is None else ())
    ties: list[family.Ties] = []
    bar = _Bar(progress, extent.expected)
    for found in (check or partial(run_check.check_all, records, terms.rules))(runs, log, bar.add):
        each = found.run
        committed = log.runs.get(each, ledger.Commitment())
        tally.add(found.tally)
        remarks += found.remarks
        if committed.imported is None and not committed.pruned:
            heads.check_point(each, found.point, log, tally)
        kept += found.bodies
        events += found.events
        sealed = committed.sealed(log.checkpoint[0] if log.checkpoint else 0)
        tally.counts["UNSEALED_TAIL"] += max(0, found.events - sealed)
        if extent.runs is not None and found.events > sealed and log.checkpoint and not log.newer:
            tally.find("V104", "a bundle holds what its checkpoint covers, and no event above", each, sealed)
        if found.events:
            ties += [found.ties] if not committed.pruned else []
            opened, closed = (found.told.opened, found.told.closed) if found.told else ("", "")
            hearing.hear(Span(each, found.events, found.point, opened, closed), tally)
        if catalogue is not None and not found.unread:
            tally.counts["STALE_CATALOGUE"] += catalogue.get(each) != found.told
    family.check(ties, records, log, tally)
    if not events and _is_empty(log, run, tally):
        tally.find("V001", "there is no event in it", run)
    flags = _flags(tally, hearing, attributed=bool(terms.pins))
    return Verdict(
        subject=_subject(extent, log.origin or "unknown", runs, run, tally.counts["RUNS_PRUNED"]),
        bounds=hearing.conclude(tally),
        findings=tuple(tally.findings),
        newer=tuple(tally.newer),
        flags=flags,
        runs=len(runs) - tally.counts["RUNS_PRUNED"],
        events=events,
        bodies=kept,
        checkpoint=log.checkpoint,
        key=log.keys.current if log.keys else None,
        locked=tally.locked,
        remarks=remarks,
        witnesses=tuple(sorted(hearing.attested.cosigned)),
        unmet=tuple(f"the policy forbids {name}" for name, _ in flags if name in policy.forbid),
    )


def _is_empty(log: ledger.Ledger, run: str | None, tally: Tally) -> bool:
    """Whether there was nothing to verify; V210 says it of a run that ought to have events."""
    if run is None:
        return not tally.counts["RUNS_PRUNED"]
    return run not in log.runs or log.runs[run].pruned


def _subject(extent: Extent, origin: str, runs: list[str], run: str | None, pruned: int) -> str:
    if run is not None:
        return f"run {run}"
    if extent.runs is not None and len(runs) == 1:
        return f"run {runs[0]}"
    return f"{'store' if extent.runs is None else 'bundle of'} {origin}: {len(runs) - pruned} runs"


def _check_file(connection: Connection, folder: Path) -> None:
    said = database.fault_of_file(connection)
    if said:
        raise StoreUnusable(
            f"the store {database.shown(folder)} is damaged: its records are whole, its file is not: {said}",
            hint="keep it, and make a new file of it with sqlite3's .recover",
        )


def _named(connection: Connection, word: str) -> str:
    try:
        return naming.identify(connection, word)
    except UnknownRun:
        # A run that was cut out of the store may still be in its log: its whole id must not be "unknown".
        if re.fullmatch(_RUN_ID, word):
            return word
        raise


def _flags(tally: Tally, hearing: Hearing, *, attributed: bool) -> tuple[tuple[str, int | None], ...]:
    flags: list[tuple[str, int | None]] = [] if attributed else [("UNATTRIBUTED", None)]
    counted = [(name, tally.counts[name]) for name in _COUNTED if tally.counts[name]]
    return (*flags, *hearing.flags(), *counted)
