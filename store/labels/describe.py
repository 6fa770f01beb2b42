"""Says in a few plain words what some text or JSON is: for one line of a timeline.

What the wire brought is made harmless for a terminal: one line, no control or formatting characters.
"""

from store.core.words import noun
from store.labels import tree
from store.labels.tree import Json

_MEMBERS_SHOWN = 6
_WHOLE_CHARACTERS_MAX = 60


def line(text: str, characters_max: int) -> str:
    """`text` as one printable line, cut with an ellipsis."""
    head = " ".join(text[: characters_max * 4].split())
    clean = "".join(character if character.isprintable() else "\ufffd" for character in head)
    cut = len(clean) > characters_max or len(text) > characters_max * 4
    return clean[: characters_max - 1].rstrip() + "…" if cut else clean


def quoted(text: str, characters_max: int = 48) -> str:
    """`text` as one printable line in quotation marks."""
    return f'"{line(text, characters_max)}"'


def plural(count: int, one: str, many: str = "") -> str:
    """`1 message`, `2 messages`; `many` is the word for several, where that has no plain s."""
    return f"{count} {noun(count, one, many)}"


def shape(value: Json) -> str:
    """What a JSON value is: whole when it is short, else its kind, its size, and which of its members are empty."""
    match value:
        case str():
            return quoted(value)
        case list():
            return f"list of {len(value)}" if value else "empty list"
        case dict():
            return _object(value) if value else "empty object"
    return line(tree.spell(value), _WHOLE_CHARACTERS_MAX)


def size(count_bytes: int) -> str:
    """A size for people: `812 bytes`, `14 kB`."""
    return plural(count_bytes, "byte") if count_bytes < 10_000 else f"{count_bytes // 1000} kB"


def _object(value: dict[str, Json]) -> str:
    """Whole, or its members by name, the empty ones first: an empty list is what a silent failure looks like."""
    whole = tree.spell(value)
    if len(whole) <= _WHOLE_CHARACTERS_MAX and not any(member in ([], {}) for member in value.values()):
        return line(whole, _WHOLE_CHARACTERS_MAX)
    ordered = sorted(value.items(), key=lambda item: item[1] not in ([], {}))
    shown = ", ".join(_member(name, member) for name, member in ordered[:_MEMBERS_SHOWN])
    rest = len(value) - _MEMBERS_SHOWN
    return f"object with {shown}" + (f" and {rest} more" if rest > 0 else "")


def _member(name: str, member: Json) -> str:
    name = line(name, 32)
    return f"{name} ({shape(member)})" if member in ([], {}) else name
