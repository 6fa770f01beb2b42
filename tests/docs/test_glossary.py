"""The glossary explains the house's words, each once."""

import re
from collections import Counter
from pathlib import Path

from tests.docs.pages import text

GLOSSARY = Path("docs/glossary.md")
WORDS = {
    "run", "lane", "exchange", "event", "step", "opening", "payload", "chain", "head", "genesis", "log",
    "leaf", "checkpoint", "witness", "match", "miss", "drift", "fork", "effect", "bundle", "note",
    "annotation", "flag",
}  # fmt: skip
ROW = re.compile(r"^\| *([^|]+?) *\|", re.MULTILINE)


def explained() -> list[str]:
    """The words in the first column of the glossary's tables."""
    cells = [re.sub(r"[*`]", "", cell) for cell in ROW.findall(text(GLOSSARY))]
    return [word.strip() for cell in cells for word in cell.split(",")]


def test_every_word_of_the_house_is_explained() -> None:
    assert WORDS - set(explained()) == set()


def test_no_word_is_explained_twice() -> None:
    assert [word for word, times in Counter(explained()).items() if times > 1 and word in WORDS] == []
