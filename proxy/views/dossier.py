"""The report that lies in a bundle: what happened step by step, what is proved and what is not; a page, and JSON.

Rules kept here:
- It is made of what the bundle holds and of nothing else, so that the same bundle always has the same report.
- Where bodies are withheld, nothing of a body is shown.
"""

from collections.abc import Iterator, Sequence

from audit import pages
from audit.pages import Detail, Findings, RunView
from proxy.output import as_json_text
from proxy.views.remarks import numbered, pairs
from proxy.views.report import detail, row_of
from proxy.views.spoken import Look
from proxy.views.timeline import Line, lines
from proxy.words import count, duration, microseconds_between, moment, printable
from store.annotations import Said, said
from store.bundle.export import Excerpt
from store.bundle.packing import Report
from store.core import draft
from store.core.annotation import Kept
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import Gap, RunClose, RunOpen
from store.core.text import Apart, Body, Text, text_bytes
from store.exchange import Happening, Step, steps
from store.reader import BodyUnavailable

FORMAT = "edgetape/bundle-report/1"
# A request repeats its whole conversation: what is longer is to be read in blobs/.
DETAIL_LINES_MAX = 200

_PROVED = (
    "Every event in events.ndjson is byte for byte what a signed log commits to; none was taken out, added, or put in"
    " another place.",
    "The holder of the key signed that log. Who that is you know if you got the key on another way, and pinned it"
    " (--pin); else it may be anybody.",
)
_OPENED = "Every body in blobs/ is the one that its event commits to."
_UNOPENED = "Of the bodies nothing: a commitment does not tell what it is of."
_UNPROVED = (
    "That the holder of the key did not make the recording up, or make it anew: that takes a checkpoint, a cosignature"
    " or a time stamp that was out of his reach.",
    "When it was: times are those of the recorder's clock, unless somebody else stamped the log.",
    "What the agent did on other ways than through the recorder. A note is what the agent claimed.",
    "What redaction took out: no digest of it exists. Where it did, an event says so.",
    "What this page says: nothing signs it.",
)
_OPEN = "How an open run went on: it is shown as far as the checkpoint reaches."
_GAPS = "What happened in the gaps: that there are any is on record, not what they are of."
_PARTIAL = "That nothing else was logged about these runs, or about keys: only single leaves are shown."


class Withheld:
    """Reads short texts, and no body."""

    def text(self, event: Event, value: Text | None) -> bytes:
        """See Look."""
        if isinstance(value, Apart) and value.body is not None:
            return b"(withheld)"
        return b"" if value is None else text_bytes(value)

    def body(self, event: Event, apart: Apart | None) -> bytes:
        """See Look."""
        raise BodyUnavailable(f"the bodies of event {event.seq} are withheld")


class Forgiving:
    """Reads a text wherever it is kept; one that was erased is shown as such."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def text(self, event: Event, value: Text | None) -> bytes:
        """See Look."""
        try:
            return self._look.text(event, value)
        except EdgetapeError:
            return b"(erased)"

    def body(self, event: Event, apart: Apart | None) -> bytes:
        """See Look."""
        return self._look.body(event, apart)


def report(taken: Excerpt, *, proofs: bool, bodies: bool) -> Report:
    """The report of a bundle with or without the whole log and `bodies`."""
    look: Look = Forgiving(taken.reader) if bodies else Withheld()
    runs = [(events, steps(events)) for events in map(taken.events, sorted(taken.runs))]
    told = [(events, happened, lines(happened, look)) for events, happened in runs]
    findings = _findings([events for events, _ in runs], proofs=proofs, bodies=bodies)
    spoken = {run: _said(kept, bodies=bodies) for run, kept in taken.annotations.items()}
    views = [
        _view(events, rows, _details(taken, happened) if bodies else (), pairs(spoken[events[0].run], happened))
        for events, happened, rows in told
    ]
    page = pages.report(_facts(taken, proofs=proofs, bodies=bodies), views, findings)
    record = {
        "format": FORMAT,
        "log": taken.origin,
        "checkpoint": taken.size,
        "proved": findings.proved,
        "not_proved": findings.unproved,
        "runs": [
            {
                **_members(events),
                "steps": [_step(taken, *each, bodies=bodies) for each in zip(_shown(happened), rows, strict=True)],
                "annotations": numbered(spoken[events[0].run], happened),
            }
            for events, happened, rows in told
        ],
    }
    return Report(page, f"{as_json_text(record)}\n".encode("utf-8", "backslashreplace"))


def _said(kept: Sequence[Kept], *, bodies: bool) -> list[Said]:
    return said(kept) if bodies else said([each.silent for each in kept], "withheld")


def _facts(taken: Excerpt, *, proofs: bool, bodies: bool) -> list[tuple[str, str]]:
    log = "proofs of single leaves" if proofs else "whole, up to the checkpoint"
    kept = "included, redacted as the events say" if bodies else "withheld: their commitments only"
    return [
        ("store", taken.origin),
        ("checkpoint", f"{count(taken.size, 'leaf', 'leaves')}, signed"),
        ("key", taken.vkey),
        ("log", log),
        ("bodies", kept),
    ]


def _findings(runs: Sequence[Sequence[Event]], *, proofs: bool, bodies: bool) -> Findings:
    """What a verified bundle of these runs shows, and what it cannot; from what lies in it alone."""
    proved = [*_PROVED, _OPENED if bodies else _UNOPENED]
    conditions = (
        (any(not isinstance(events[-1].facts, RunClose) for events in runs), _OPEN),
        (any(isinstance(event.facts, Gap) for events in runs for event in events), _GAPS),
        (proofs, _PARTIAL),
    )
    return Findings(tuple(proved), (*_UNPROVED, *(words for holds, words in conditions if holds)))


def _view(
    events: list[Event], rows: list[Line], details: Sequence[Detail], remarks: Sequence[tuple[str, str]]
) -> RunView:
    said = _members(events)
    name = f" {printable(str(said['name']), one_line=True)}" if said["name"] else ""
    facts = [("opened", moment(str(said["opened"])))]
    if said["closed"]:
        lasted = duration(microseconds_between(str(said["opened"]), str(said["closed"])))
        facts.append(("ended", f"{said['reason']}, after {lasted}"))
    facts.append(("mode", str(said["mode"])))
    facts.append(("events", count(len(events), "event")))
    title, shown = f"run{name} {said['id']}", tuple(map(row_of, rows))
    return RunView(title, tuple(facts), shown, tuple(details), events[0].run, tuple(remarks))


def _details(taken: Excerpt, happened: Sequence[Step]) -> list[Detail]:
    return [detail(taken.reader, step, DETAIL_LINES_MAX) for step in happened if step.step is not None]


def _shown(happened: Sequence[Step]) -> list[Step]:
    """The steps that have a line."""
    return [
        step
        for step in happened
        if not isinstance(step, Happening) or not isinstance(step.event.facts, RunOpen | RunClose)
    ]


def _step(taken: Excerpt, step: Step, line: Line, *, bodies: bool) -> dict[str, object]:
    """A line, and where its evidence lies: the seqs of its events, and the blobs of their bodies."""
    events = step.events
    blobs = [blob for event in events for blob in _blobs(taken, event)] if bodies else []
    return {**line.as_record(), "events": [event.seq for event in events], "blobs": blobs}


def _blobs(taken: Excerpt, event: Event) -> Iterator[dict[str, object]]:
    for pointer, commitment in draft.commitments(event.facts).items():
        try:
            opening = taken.reader.opening(event, Body(body=commitment))
        except EdgetapeError:
            continue  # it was erased
        yield {"seq": event.seq, "pointer": pointer, "sha256": opening.sha256.hex(), "length": opening.length}


def _members(events: list[Event]) -> dict[str, object]:
    first, last = events[0], events[-1]
    opened = first.facts
    closed = last.facts if isinstance(last.facts, RunClose) else None
    assert isinstance(opened, RunOpen)
    return {
        "id": first.run,
        "name": opened.name if isinstance(opened.name, str) else None,
        "mode": opened.mode,
        "opened": first.place.ts,
        "closed": last.place.ts if closed else None,
        "reason": closed.reason if closed else None,
        "exit_code": closed.exit_code if closed else None,
        "events": len(events),
    }
