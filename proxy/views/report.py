"""One run as a page of its own: what it was, its verdict, its timeline, and every step whole, folded."""

from audit import pages
from audit.pages import Detail, Row, RunView
from proxy.agent.identity import command_of
from proxy.views.page import page
from proxy.views.remarks import pairs
from proxy.views.timeline import Line, clock, lines
from proxy.views.verdict import judgement
from proxy.words import count, duration, microseconds_between, moment, printable
from store.core.errors import EdgetapeError
from store.exchange import Step, steps
from store.reader import Reader, RunInfo

DETAIL_LINES_MAX = 2000
_LIMIT = (
    "This page is a view, made for reading. It is not evidence and nothing signs it: `edgetape verify` proves the run,"
    " and `edgetape export` takes it out as a file that verifies alone."
)


def report(reader: Reader, run: RunInfo) -> bytes:
    """The page, self-contained HTML. Raises Malformed for a run that cannot be read."""
    happened = steps(reader.events(run.id))
    rows = [row_of(line) for line in lines(happened, reader)]
    name = f" {printable(run.name, one_line=True)}" if run.name else ""
    said = tuple(pairs(reader.annotations(run.id), happened))
    view = RunView(f"run{name} {run.id}", _facts(reader, run), tuple(rows), remarks=said)
    judged = judgement(reader, happened)
    details = [detail(reader, step) for step in happened if step.step is not None]
    return pages.story(view, _LIMIT, judged.words if judged is not None else "", details)


def row_of(line: Line) -> Row:
    """A line of a timeline as a page has it."""
    number = "" if line.number is None else str(line.number)
    took = "" if line.took_us is None else duration(line.took_us)
    return Row((number, clock(line.at_us), took, line.status, line.words), line.mark)


def _facts(reader: Reader, run: RunInfo) -> tuple[tuple[str, str], ...]:
    facts = [("opened", moment(run.opened))]
    if run.closed:
        facts.append(("ended", f"{run.reason}, after {duration(microseconds_between(run.opened, run.closed))}"))
    facts.append(("mode", run.mode))
    if run.parent is not None:
        facts.append(("goes on from", f"run {run.parent.run}, event {run.parent.seq}"))
    facts.append(("command", printable(" ".join(command_of(reader, run.id)), one_line=True) or "not known"))
    facts.append(("steps", count(run.steps, "step")))
    return tuple(facts)


def detail(reader: Reader, step: Step, lines_max: int = DETAIL_LINES_MAX) -> Detail:
    """A step whole, up to a number of lines; of one that cannot be read the reason."""
    try:
        told = list(page(reader, step))
    except EdgetapeError as error:
        told = [f"step {step.step}", str(error)]
    title, *rest = told
    if len(rest) > lines_max:
        rest = [*rest[:lines_max], f"... {count(len(rest) - lines_max, 'more line')}"]
    return Detail(str(step.step), title, "\n".join(rest))
