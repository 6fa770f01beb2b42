"""The written pages, and what stands in them: code blocks, links and headings."""

import re
from pathlib import Path

from tests.layout.tree import ROOT, files

FENCE = re.compile(r"^[ ]*```(\w*)\n(.*?)^[ ]*```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*#*$", re.MULTILINE)
NOT_IN_A_SLUG = re.compile(r"[^\w\- ]")


def pages() -> tuple[Path, ...]:
    """Every page written for people, relative to the root."""
    return tuple(path for path in files() if path.suffix == ".md")


def text(page: Path) -> str:
    """A page as it is written."""
    return (ROOT / page).read_text()


def shell_lines(page: Path) -> list[str]:
    """The command lines in a page's code blocks, without prompts; continued lines are joined."""
    lines = []
    for language, block in FENCE.findall(text(page)):
        if language in {"", "sh", "bash", "shell", "console"}:
            lines += block.replace("\\\n", " ").splitlines()
    return [line.strip().removeprefix("$ ") for line in lines]


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return FENCE.sub("", text(page))


def links(page: Path) -> list[str]:
    """Where a page's links inside the repository lead."""
    return [link for link in LINK.findall(prose(page)) if "://" not in link and not link.startswith("mailto:")]


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings give, as forges make them."""
    return {
        NOT_IN_A_SLUG.sub("", heading.replace("`", "").lower()).replace(" ", "-")
        for heading in HEADING.findall(prose(page))
    }
