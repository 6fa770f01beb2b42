"""How an event of a stream is spelled (WHATWG HTML, section 9.2), and a text cut as a model would stream it."""

import re

from store.labels import tree
from store.labels.tree import Json

_WORD = re.compile(r"\s*\S+\s*\Z|\s*\S+|\s+")


def event(value: Json, name: str = "") -> bytes:
    """One event with JSON in it; `name` is its type where the provider names it."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {tree.spell(value)}\n\n".encode("utf-8", "surrogatepass")


def words(text: str) -> list[str]:
    """The pieces of a text, a word each with the space before it."""
    return _WORD.findall(text)
