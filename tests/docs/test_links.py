"""Every link inside the repository leads somewhere."""

from pathlib import Path

from tests.docs.pages import anchors, links, pages
from tests.layout.tree import ROOT


def leads_nowhere(page: Path, link: str) -> bool:
    """Whether a link's file is absent, or has no such heading."""
    name, _, fragment = link.partition("#")
    target = (ROOT / page.parent / name).resolve() if name else ROOT / page
    if not target.exists():
        return True
    return bool(fragment) and target.suffix == ".md" and fragment not in anchors(target)


def test_every_link_leads_somewhere() -> None:
    assert [f"{page}: {link}" for page in pages() for link in links(page) if leads_nowhere(page, link)] == []


def test_a_dead_link_is_seen() -> None:
    assert leads_nowhere(Path("CHANGELOG.md"), "no-such-file.md")
    assert leads_nowhere(Path("CHANGELOG.md"), "#no-such-heading")
    assert not leads_nowhere(Path("CHANGELOG.md"), "#changelog")
