"""Foreign text as one line of a report, and as one word that a shell reads back."""

import re
import shlex

_HIDDEN = re.compile(r"[^\x20-\x7e\xa0-\U0010ffff]")
_SPECIAL = re.compile(r"[\\']")


def line(text: str) -> str:
    """`text` with its control characters spelled out: a line break in a member's name is none in the report."""
    return _HIDDEN.sub(_spelled, text)


def word(text: str) -> str:
    """`text` quoted for a POSIX shell; control characters as $'...' has them (bash, zsh, ksh, POSIX.1-2024)."""
    if not _HIDDEN.search(text):
        return shlex.quote(text)
    return "$'" + line(_SPECIAL.sub(r"\\\g<0>", text)) + "'"


def _spelled(match: re.Match[str]) -> str:
    return {"\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(match[0], f"\\x{ord(match[0]):02x}")
