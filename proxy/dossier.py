"""The report that lies in a bundle: the timeline of each run, as a page and as JSON.

Rules kept here:
- It is made of what the bundle holds and of nothing else, so that the same bundle always has the same report.
- Where bodies are withheld, nothing of a body is shown.
"""

from audit import pages
from audit.pages import RunView
from proxy.output import as_json_text
from proxy.report import row_of
from proxy.timeline import Line, Look, lines
from proxy.words import count, duration, microseconds_between, moment, printable
from store.bundle.export import Excerpt
from store.bundle.packing import Report
from store.core.errors import EdgetapeError
from store.core.event import Event
from store.core.model import RunClose, RunOpen
from store.core.text import Apart, Text, text_bytes
from store.exchange import steps
from store.reader import BodyUnavailable

FORMAT = "edgetape/bundle-report/1"


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


def report(taken: Excerpt, *, bodies: bool) -> Report:
    """The report of a bundle with or without `bodies`."""
    look: Look = Forgiving(taken.reader) if bodies else Withheld()
    runs = [(run, taken.events(run)) for run in sorted(taken.runs)]
    told = [(events, lines(steps(events), look)) for _, events in runs]
    facts = (("log", taken.origin), ("checkpoint", f"{taken.size} leaves"), ("key", taken.vkey))
    page = pages.report(facts, [_view(events, rows) for events, rows in told])
    record = {
        "format": FORMAT,
        "log": taken.origin,
        "checkpoint": taken.size,
        "runs": [{**_members(events), "steps": [row.as_record() for row in rows]} for events, rows in told],
    }
    return Report(page, f"{as_json_text(record)}\n".encode("utf-8", "backslashreplace"))


def _view(events: list[Event], rows: list[Line]) -> RunView:
    said = _members(events)
    name = f" {printable(str(said['name']), one_line=True)}" if said["name"] else ""
    facts = [("opened", moment(str(said["opened"])))]
    if said["closed"]:
        lasted = duration(microseconds_between(str(said["opened"]), str(said["closed"])))
        facts.append(("ended", f"{said['reason']}, after {lasted}"))
    facts.append(("mode", str(said["mode"])))
    facts.append(("events", count(len(events), "event")))
    return RunView(f"run{name} {said['id']}", tuple(facts), tuple(row_of(row) for row in rows))


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
