"""The report of a bundle as one page for people: self-contained, without scripts, every text escaped; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; overflow-wrap: anywhere; }
p.limit { border-left: 4px solid #b58900; padding-left: .8rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; } td.words { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; } summary { cursor: pointer; overflow-wrap: anywhere; }
.verdict { font-weight: bold; }
tr.odd { background: #fff8e1; } tr.bad { background: #fdecea; }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #ddd; } th, td { border-color: #333; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; } summary { cursor: pointer; overflow-wrap: anywhere; }
.verdict { font-weight: bold; }
tr.odd { background: #332b00; } tr.bad { background: #3b1512; }
}
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
class RunView:
    """One run: its heading, facts (name and value), and timeline."""

    title: str
    facts: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Detail:
    """One step whole: its number, its line, and all of it as text."""

    number: str
    title: str
    text: str


def report(facts: Sequence[tuple[str, str]], runs: Sequence[RunView]) -> bytes:
    """The page of a bundle: `facts` are about the bundle as a whole."""
    return document("edgetape report", _LIMIT, [*_facts(facts), *(part for run in runs for part in _run(run))])


def story(run: RunView, limit: str, verdict: str, details: Sequence[Detail]) -> bytes:
    """The page of one run; `limit` says what the page is not, `verdict` what a replay found."""
    told = [f'<p class="verdict">{escape(verdict)}</p>'] if verdict else []
    return document("edgetape run", limit, [*told, *_run(run), "<h2>steps</h2>", *map(_detail, details)])


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


def _detail(one: Detail) -> str:
    head = f'<details id="step-{escape(one.number)}"><summary>{escape(one.title)}</summary>'
    return f"{head}<pre>{escape(one.text)}</pre></details>"


def _run(run: RunView) -> Iterable[str]:
    yield f"<h2>{escape(run.title)}</h2>"
    yield from _facts(run.facts)
    yield f"<table><thead><tr>{''.join(f'<th>{head}</th>' for head in _HEADS)}</tr></thead><tbody>"
    for row in run.rows:
        kinds = ("number", "number", "number", "status", "words")
        cells = "".join(f'<td class="{kind}">{escape(cell)}</td>' for kind, cell in zip(kinds, row.cells, strict=True))
        yield f'<tr class="{escape(row.mark)}">{cells}</tr>'
    yield "</tbody></table>"


def _facts(facts: Sequence[tuple[str, str]]) -> Iterable[str]:
    pairs = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    yield f"<dl>{pairs}</dl>"
