"""The report page: whatever a run holds, the page shows it as text."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from audit.pages import Row, RunView, report

TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "dl", "dt", "dd",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip

hostile = st.text() | st.sampled_from(["<script>alert(1)</script>", '"><img src=x onerror=x>', "</style>", "&lt;"])


class Seen(HTMLParser):
    """Which tags and texts a browser would find."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(hostile, hostile, hostile)
def test_no_text_becomes_markup(title: str, fact: str, cell: str) -> None:
    page = report([("log", fact)], [RunView(title, ((fact, fact),), (Row(("1", cell, cell, cell, cell), "good"),))])
    seen = Seen()
    seen.feed(page.decode())
    assert seen.tags <= TAGS
    assert seen.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class"}


def test_texts_are_shown_as_they_are() -> None:
    seen = Seen()
    seen.feed(report([], [RunView("a <b> & 'c'", (), ())]).decode())
    assert "a <b> & 'c'" in seen.texts


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    page = report([("log", "x")], []).decode()
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert not any(word in page for word in ("<script", "http://", "https://", "url(", "<link", "<img"))


def test_it_says_that_it_is_no_evidence() -> None:
    assert b"not evidence" in report([], [])
