"""The SQL of our rooms as PostgreSQL understands it (pure): it is written once, as SQLite has it.

Rules kept here:
- What is rewritten is spelled in one way in our rooms: a value, a cell asked for by `store.cells`, a search in bytes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from store.database.connection import Value

_BLOB = re.compile(r"CASE typeof\(([\w.]+)\) WHEN 'blob' THEN \1 ELSE x'' END")
_SEARCH = re.compile(r"instr\((\w+), (\?\d*)\)")
_VALUE = re.compile(r"'[^']*'|(CAST\()?\?(\d*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement for psycopg, whose values have names; `texts` are those that are given as bytes but are text."""

    sql: str
    texts: frozenset[str]

    def bound(self, values: Sequence[Value]) -> Mapping[str, Value]:
        """The values by their names."""
        return {f"p{number}": self._bound(f"p{number}", value) for number, value in enumerate(values, start=1)}

    def _bound(self, name: str, value: Value) -> Value:
        if isinstance(value, bytes) and name in self.texts:
            return value.decode("utf-8", "replace")  # no text in such a store is other than UTF-8
        return int(value) if isinstance(value, bool) else value


@lru_cache(maxsize=512)
def translated(sql: str) -> Statement:
    """A statement of ours for PostgreSQL."""
    sql = _BLOB.sub(r"COALESCE(\1, ''::bytea)", sql.replace("%", "%%"))
    sql = _SEARCH.sub(r"position(\2 IN \1)", sql).replace(" AS INTEGER)", " AS BIGINT)")
    texts, last = set[str](), 0

    def named(found: re.Match[str]) -> str:
        nonlocal last
        cast, number = found[1] or "", found[2]
        if number is None:
            return found[0]  # a text
        last = max(last, int(number)) if number else last + 1
        name = f"p{number or last}"
        if cast and found.string.startswith(" AS TEXT)", found.end()):
            texts.add(name)
        return f"{cast}%({name})s"

    return Statement(_VALUE.sub(named, sql), frozenset(texts))
