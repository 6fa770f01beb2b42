"""The report page: whatever a run holds, the page shows it as text."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from audit.pages import Detail, Findings, Row, RunView, report

TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "dl", "dt", "dd",
    "table", "thead", "tbody", "tr", "th", "td", "a", "ul", "li", "h3", "details", "summary", "pre",
}  # fmt: skip

hostile = st.text() | st.sampled_from(["<script>alert(1)</script>", '"><img src=x onerror=x>', "</style>", "&lt;"])


class Seen(HTMLParser):
    """Which tags and texts a browser would find."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


NOTHING = Findings((), ())


@given(hostile, hostile, hostile)
def test_no_text_becomes_markup(title: str, fact: str, cell: str) -> None:
    rows = (Row(("1", cell, cell, cell, cell), "good"), Row((cell, cell, cell, cell, cell), "bad"))
    run = RunView(title, ((fact, fact),), rows, (Detail("1", cell, fact), Detail(cell, cell, cell)), title)
    page = report([("log", fact)], [run], Findings((fact,), (cell,)))
    seen = Seen()
    seen.feed(page.decode())
    assert seen.tags <= TAGS
    assert seen.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "id", "href"}
    assert all(href.startswith("#") for href in seen.links)


def test_texts_are_shown_as_they_are() -> None:
    seen = Seen()
    seen.feed(report([], [RunView("a <b> & 'c'", (), ())], NOTHING).decode())
    assert "a <b> & 'c'" in seen.texts


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    page = report([("log", "x")], [], NOTHING).decode()
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert not any(word in page for word in ("<script", "http://", "https://", "url(", "<link", "<img"))


def test_it_says_that_it_is_no_evidence() -> None:
    assert b"not evidence" in report([], [], NOTHING)


def test_each_step_leads_to_all_of_it_folded() -> None:
    run = RunView("run", (), (Row(("7", "", "", "", "asked"), "good"),), (Detail("7", "step 7", "a\nb"),), "id")
    page = report([], [run], NOTHING).decode()
    assert '<a href="#step-id-7">7</a>' in page
    assert '<details id="step-id-7"><summary>step 7</summary><pre>a\nb</pre></details>' in page
