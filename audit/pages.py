"""The report of a bundle as one page for people: self-contained, without scripts, every text escaped; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape

_STYLE = """\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1c1c1c;
  background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
p.limit { border-left: 4px solid #b58900; padding-left: .8rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1rem; }
dd { margin: 0; }
ul { margin-top: .2rem; padding-left: 1.3rem; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; } th, td.number, td.status { white-space: nowrap; } a { color: inherit; }
pre { white-space: pre-wrap; margin: .5rem 0 1rem; padding-left: .8rem; border-left: 1px solid #ddd; }
summary { cursor: pointer; } details { margin: .3rem 0; } .verdict { font-weight: bold; }
tr.odd { background: #fff8e1; } tr.bad { background: #fdecea; } details:target { outline: 2px solid #b58900; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; } dt { font-weight: bold; margin-top: .3rem; }
  thead { display: none; } tr { display: block; padding: .4rem; border-bottom: 1px solid #ddd; }
  td { display: inline; border: 0; padding: 0 .4rem 0 0; } td.words { display: block; }
}
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #ddd; } th, td, tr, pre { border-color: #333; }
  tr.odd { background: #332b00; } tr.bad { background: #3b1512; }
}
@media print { details > pre { display: block; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LIMIT = (
    "This page is a view, made for reading. It is not evidence and nothing signs it: what is proven stands in"
    " events.ndjson, checkpoint and the log beside it, and README.txt says how to check that."
)
_HEADS = ("step", "at", "took", "status", "what")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a timeline, its cells as text; `mark` is good, odd or bad."""

    cells: tuple[str, str, str, str, str]
    mark: str


@dataclass(frozen=True, slots=True)
class Detail:
    """One step whole: its number, its line, and all of it as text."""

    number: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One run: its heading, facts (name and value), timeline, and its steps whole. `key` tells it from other runs of
    the page; `remarks` are what people said about it, a line and a text each.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    details: tuple[Detail, ...] = ()
    key: str = ""
    remarks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """What whoever verifies a bundle knows then, and what he does not: sentences."""

    proved: tuple[str, ...]
    unproved: tuple[str, ...]


def report(facts: Sequence[tuple[str, str]], runs: Sequence[RunView], findings: Findings) -> bytes:
    """The page of a bundle: `facts` are about the bundle as a whole."""
    told = [
        *_facts(facts),
        *_list("What is proved, once the bundle verifies", findings.proved),
        *_list("What is not proved", findings.unproved),
    ]
    for run in runs:
        told += [*_run(run), *(["<h3>steps</h3>"] if run.details else []), *_details(run)]
    return document("edgetape report", _LIMIT, told)


def story(run: RunView, limit: str, verdict: str, details: Sequence[Detail]) -> bytes:
    """The page of one run; `limit` says what the page is not, `verdict` what a replay found."""
    told = [f'<p class="verdict">{escape(verdict)}</p>'] if verdict else []
    whole = replace(run, details=tuple(details))
    return document("edgetape run", limit, [*told, *_run(whole), "<h2>steps</h2>", *_details(whole)])


def document(title: str, limit: str, parts: Iterable[str]) -> bytes:
    """A page that needs nothing else: `parts` are HTML, everything foreign in them escaped."""
    head = (
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>\n{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="limit">{escape(limit)}</p>',
    )
    return "".join(f"{part}\n" for part in (*head, *parts, "</body></html>")).encode("utf-8", "backslashreplace")


def _details(run: RunView) -> Iterable[str]:
    for one in run.details:
        head = f'<details id="{_place(run, one.number)}"><summary>{escape(one.title)}</summary>'
        yield f"{head}<pre>{escape(one.text)}</pre></details>"


def _place(run: RunView, number: str) -> str:
    return escape(f"step-{run.key}-{number}" if run.key else f"step-{number}")


def _run(run: RunView) -> Iterable[str]:
    yield f"<h2>{escape(run.title)}</h2>"
    yield from _facts(run.facts)
    yield f"<table><thead><tr>{''.join(f'<th>{head}</th>' for head in _HEADS)}</tr></thead><tbody>"
    whole = {one.number for one in run.details}
    for row in run.rows:
        kinds = ("number", "number", "number", "status", "words")
        number, *others = map(escape, row.cells)
        first = f'<a href="#{_place(run, row.cells[0])}">{number}</a>' if row.cells[0] in whole else number
        cells = "".join(f'<td class="{kind}">{cell}</td>' for kind, cell in zip(kinds, (first, *others), strict=True))
        yield f'<tr class="{escape(row.mark)}">{cells}</tr>'
    yield "</tbody></table>"
    if run.remarks:
        said = (f"<li>{escape(head)}<pre>{escape(text)}</pre></li>" for head, text in run.remarks)
        yield f"<h3>annotations</h3><ul>{''.join(said)}</ul>"


def _list(title: str, sentences: Sequence[str]) -> Iterable[str]:
    yield f"<h2>{escape(title)}</h2><ul>{''.join(f'<li>{escape(each)}</li>' for each in sentences)}</ul>"


def _facts(facts: Sequence[tuple[str, str]]) -> Iterable[str]:
    pairs = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    yield f"<dl>{pairs}</dl>"
