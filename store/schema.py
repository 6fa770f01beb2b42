"""The tables of a SQLite store, as migrations, and the guards that keep what is recorded as it was.

docs/format.md, section 8.

Rules kept here:
- `events`, `event_blocks`, `leaves`, `checkpoints`, `nodes`, `anchors` and `annotations` only grow: UPDATE, DELETE and
  a second INSERT of a key are refused, so INSERT OR REPLACE is too. No event is written where a block has one.
- Events may be deleted where their hashes stand in their places in a block of the run; and they, the blocks and the
  annotations of a run right behind the leaf that says that it was pruned.
- `openings`, `opening_blocks`, `payloads`, `loans`, `blocks`, `keys` and `annotation_texts` may be deleted (erasure,
  tighter blocks, other keys), never changed.
- `runs` and `nodes` can be derived again from the rest; `pending` and `leases` speak of runs that are still open.
"""

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a sixth of the start of a command, and most find their tables made
    from sqlite_utils import Database
    from sqlite_utils.db import Table

MIGRATIONS = "_sqlite_migrations"  # sqlite_utils keeps there what was applied
OURS = "edgetape.store"

type Migration = Callable[[Database], None]

_migrations: list[Migration] = []

_APPEND_ONLY = {
    "events": ("run", "seq"),
    "event_blocks": ("run", "first"),
    "leaves": ("position",),
    "checkpoints": ("size",),
    "nodes": ("level", "position"),
}
_ERASABLE = {
    "openings": ("run", "seq", "pointer"),
    "payloads": ("run", "seq", "pointer"),
    "opening_blocks": ("run", "first"),
    "blocks": ("run", "number"),
    "keys": ("run", "kind"),
}

# Where rows of single runs lie, by their column `run`: what goes when a run is pruned.
OF_RUNS = (
    "openings", "payloads", "blocks", "events", "event_blocks", "opening_blocks", "keys", "pending", "leases",
    "loans", "annotations", "annotation_texts",
)  # fmt: skip


def _migration(step: Migration) -> Migration:
    _migrations.append(step)
    return step


@_migration
def m001_version_1(db: "Database") -> None:
    """The first version of every table."""
    _create(db, "events", {"run": str, "seq": int, "hash": bytes, "event": bytes}, ("run", "seq"))
    _create(
        db,
        "openings",
        {"run": str, "seq": int, "pointer": str, "salt": bytes, "sha256": bytes, "length": int},
        ("run", "seq", "pointer"),
    )
    _create(
        db,
        "payloads",
        {"run": str, "seq": int, "pointer": str, "place": int},
        ("run", "seq", "pointer"),
    )
    _create(
        db,
        "blocks",
        {"run": str, "number": int, "start": int, "length": int, "frame": int, "stored": bytes},
        ("run", "number"),
    )
    _create(
        db,
        "event_blocks",
        {"run": str, "first": int, "hashes": bytes, "digits": bytes, "text": bytes},
        ("run", "first"),
    )
    _create(db, "opening_blocks", {"run": str, "first": int, "digests": bytes, "rows": bytes}, ("run", "first"))
    _create(db, "keys", {"run": str, "kind": str, "wrapped": bytes}, ("run", "kind"))
    _create(db, "leaves", {"position": int, "leaf": bytes}, "position")
    _create(db, "nodes", {"level": int, "position": int, "hash": bytes}, ("level", "position"))
    _create(db, "checkpoints", {"size": int, "note": bytes}, "size")
    _create(
        db,
        "runs",
        {
            "id": str,
            "name": str,
            "mode": str,
            "workflow": str,
            "parent": str,
            "opened": str,
            "closed": str,
            "events": int,
            "steps": int,
            "headed": int,
        },
        "id",
    )
    _create(db, "leases", {"run": str, "owner": str}, "run")
    _create(
        db,
        "pending",
        {"run": str, "req": int, "part": str, "number": int, "piece": bytes},
        ("run", "req", "part", "number"),
    )
    db.table("runs").create_index(["name"])
    for table, key in (_APPEND_ONLY | _ERASABLE).items():
        _guard(db, table, key, erasable=table in _ERASABLE)


@_migration
def m002_anchors(db: "Database") -> None:
    """What those outside gave, by the position of its leaf."""
    _create(db, "anchors", {"position": int, "content": bytes}, "position")
    _guard(db, "anchors", ("position",), erasable=False)


@_migration
def m003_annotations(db: "Database") -> None:
    """What people said about events, and apart from it their words, which can be erased."""
    _create(db, "annotations", {"run": str, "number": int, "annotation": bytes}, ("run", "number"))
    _create(db, "annotation_texts", {"run": str, "number": int, "stored": bytes}, ("run", "number"))
    _guard(db, "annotations", ("run", "number"), erasable=False)
    _guard(db, "annotation_texts", ("run", "number"), erasable=True)


@_migration
def m004_loans(db: "Database") -> None:
    """What is kept once in two runs, by the body of the one that has it from the other."""
    columns = {"run": str, "seq": int, "pointer": str, "lender": str, "lender_seq": int, "lender_pointer": str}
    _create(db, "loans", columns, ("run", "seq", "pointer"))
    db.table("loans").create_index(["lender"])
    _guard(db, "loans", ("run", "seq", "pointer"), erasable=True)


def known() -> frozenset[str]:
    """The names of the migrations that this program can apply."""
    return frozenset(step.__name__ for step in _migrations)


def migrate(connection: sqlite3.Connection) -> None:
    """Makes the tables of a store, or what of them it does not have yet."""
    from sqlite_utils import Database, Migrations

    migrations = Migrations(OURS)
    for step in _migrations:
        migrations(name=step.__name__)(step)
    migrations.apply(Database(connection))


def _create(db: "Database", name: str, columns: dict[str, type], key: str | tuple[str, ...]) -> "Table":
    table = db.table(name)
    table.create(columns, pk=key, not_null=columns, strict=True)
    return table


# The newest leaf says that the run has left. No text can spell its type or its run: quotes in texts are escaped.
_PRUNED = (
    'SELECT instr(leaf, CAST(\'"type":"retention.pruned"\' AS BLOB))'
    " AND instr(leaf, CAST('\"run\":\"' || OLD.run || '\"' AS BLOB))"
    " FROM leaves WHERE position = (SELECT MAX(position) FROM leaves)"
)
# The block of a run that has an event of this run and seq; and what it keeps as the hash of that event.
_COVERING = (
    "SELECT 1 FROM event_blocks b WHERE b.run = {0}.run AND b.first <= {0}.seq"
    " AND {0}.seq < b.first + length(b.hashes) / 32"
)
_SAME_HASH = "substr(b.hashes, (OLD.seq - b.first) * 32 + 1, 32) = OLD.hash"
_ALSO_REFUSED = {"events": f" OR EXISTS ({_COVERING.format('NEW')})"}
_MAY_GO = {
    "events": f"WHEN NOT EXISTS ({_COVERING.format('OLD')} AND {_SAME_HASH}) AND NOT ({_PRUNED}) ",
    "event_blocks": f"WHEN NOT ({_PRUNED}) ",
    "annotations": f"WHEN NOT ({_PRUNED}) ",
}


def _guard(db: "Database", table: str, key: tuple[str, ...], *, erasable: bool) -> None:
    same = " AND ".join(f"{column} = NEW.{column}" for column in key)
    refuse = f"BEGIN SELECT RAISE(ABORT, '{table} are never changed'); END"
    db.execute(f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {refuse}")
    db.execute(
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "
        f"WHEN EXISTS (SELECT 1 FROM {table} WHERE ({same}) OR rowid = NEW.rowid)"
        f"{_ALSO_REFUSED.get(table, '')} {refuse}"
    )
    if not erasable:
        db.execute(f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {_MAY_GO.get(table, '')}{refuse}")
