"""Section 7: verifies a store, or one run of it (rule 10)."""

from pathlib import Path

from tests.support.verifier.anchors import check_anchors
from tests.support.verifier.annotations import check_annotations, check_strays
from tests.support.verifier.bodies import check_bodies
from tests.support.verifier.events import Found
from tests.support.verifier.family import check_family
from tests.support.verifier.log import Log, check_log
from tests.support.verifier.notes import Key
from tests.support.verifier.opener import Opener
from tests.support.verifier.outcome import Outcome
from tests.support.verifier.rows import CouldNotRunError, opened
from tests.support.verifier.runs import check_run


def verify(folder: Path, keys: Path, run: str | None = None, pin: str | None = None) -> Outcome:
    """Verify the log and every run, or the log and one run; go on after every fault."""
    outcome = Outcome()
    pinned = None
    if pin is not None and (pinned := Key.read(pin)) is None:
        return Outcome(status=2, trouble="the pinned key is no vkey")
    try:
        with opened(folder) as rows:
            log = check_log(rows, pinned, outcome)
            check_anchors(rows, log, outcome)
            family: dict[str, Found] = {}
            opener = Opener.of(keys, log.origin or "", rows.keys(""))
            every = [run] if run is not None else sorted({*rows.runs(), *log.runs()})
            if run is None:
                check_strays(rows, every, outcome)
            for one in every:
                found = check_run(one, rows, log, outcome)
                check_annotations(found, rows, log, opener, outcome)
                if found.rows and not log.is_pruned(one):
                    family[one] = found
                if found.rows or log.is_pruned(one) or not log.of_run(one):
                    check_bodies(found, rows, log, opener, outcome)
            check_family(family, log, outcome)
            # of one run that the log knows, V210 says it already
            empty = not outcome.counts.get("events")
            if empty and not (outcome.counts.get("RUNS_PRUNED") if run is None else _is_missing(run, log)):
                outcome.report("V001", run)
    except CouldNotRunError as error:
        outcome.status, outcome.trouble = 3, str(error)
    return outcome


def _is_missing(run: str, log: Log) -> bool:
    return bool(log.of_run(run)) and not log.is_pruned(run)
