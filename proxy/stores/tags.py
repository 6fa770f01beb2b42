"""What `tag` conditions ask for: KEY=VALUE, or KEY with any value."""

from collections.abc import Iterable

from store.standing import NOTHING, Standing

type Asked = tuple[str, str | None]


def asked(text: str) -> Asked:
    """One condition."""
    key, equals, value = text.partition("=")
    return key, value if equals else None


def has(standing: Standing | None, conditions: Iterable[Asked]) -> bool:
    """Whether a run has all of these tags."""
    tags = dict((standing or NOTHING).tags)
    return all(key in tags and value in (None, tags[key]) for key, value in conditions)
