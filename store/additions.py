"""What a transaction adds to its runs: gathered while it is open, written with one statement for each kind.

Rules kept here:
- Each statement costs the writer's thread its turn at the interpreter, and some databases a journey.
- Whoever reads what may have been added has it written first.
- What was added since a mark can be undone until it is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from store.database.connection import Connection, Value

type Mark = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Additions:
    """Rows by the statement that they are written with; what is deleted goes when the rest is there."""

    _added: dict[str, list[Sequence[Value]]] = field(default_factory=dict)
    _dropped: dict[str, list[Sequence[Value]]] = field(default_factory=dict)

    def add(self, statement: str, *values: Value) -> None:
        """A row that an INSERT or an UPDATE takes."""
        self._added.setdefault(statement, []).append(values)

    def drop(self, statement: str, *values: Value) -> None:
        """A row that a DELETE takes."""
        self._dropped.setdefault(statement, []).append(values)

    def write(self, connection: Connection) -> None:
        """Writes all of it, in the caller's transaction."""
        for statement, rows in (*self._added.items(), *self._dropped.items()):
            if rows:
                connection.executemany(statement, rows)
        self.forget()

    def forget(self) -> None:
        """Nothing of it is to be written any more."""
        self._added.clear()
        self._dropped.clear()

    def mark(self) -> Mark:
        """The state now, for `undo`."""
        return {statement: len(rows) for statement, rows in (*self._added.items(), *self._dropped.items())}

    def undo(self, mark: Mark) -> None:
        """Forgets what was added since."""
        for statement, rows in (*self._added.items(), *self._dropped.items()):
            del rows[mark.get(statement, 0) :]
