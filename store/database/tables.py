"""The tables of a store in PostgreSQL, made from those of a SQLite store, and the guards that keep them.

docs/format.md, section 8.

Rules kept here:
- Columns and keys are those of `store.schema`, read from a database that its migrations have made: they are written
  once. Text is compared byte by byte, as SQLite does.
- Guards refuse here what they refuse there; and TRUNCATE.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from store import schema

MIGRATIONS = "edgetape_migrations"
STATE = "edgetape_state"
_TYPES = {"TEXT": 'TEXT COLLATE "C"', "INTEGER": "BIGINT", "BLOB": "BYTEA"}


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its columns with their types as SQLite names them, its key, and the guards that it has."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]
    guards: frozenset[str]


@lru_cache(maxsize=1)
def tables() -> tuple[Table, ...]:
    """Those of a store, in the order in which they can be filled: events before their blocks."""
    database = sqlite3.connect(":memory:")
    try:
        schema.migrate(database)
        found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall()
        own = [name for (name,) in found if name != schema.MIGRATIONS]
        return tuple(_table(database, name) for name in own if not name.startswith("sqlite_"))
    finally:
        database.close()


def _table(database: sqlite3.Connection, name: str) -> Table:
    columns = database.execute(f"PRAGMA table_info({name})").fetchall()
    key = sorted((at, column) for _, column, _, _, _, at in columns if at)
    triggers = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (name,))
    guards = frozenset(trigger.removeprefix(f"{name}_") for (trigger,) in triggers)
    return Table(
        name, tuple((column, kind) for _, column, kind, *_ in columns), tuple(column for _, column in key), guards
    )


def own() -> str:
    """The tables that say what a store is made of, and whether it is still to be tidied."""
    return (
        f"CREATE TABLE {MIGRATIONS} (name TEXT PRIMARY KEY);"
        f" CREATE TABLE {STATE} (untidy BIGINT NOT NULL);"
        f" INSERT INTO {STATE} (untidy) VALUES (0);" + _FUNCTIONS
    )


def made(table: Table) -> Iterator[str]:
    """The statements that make a table."""
    columns = ", ".join(f"{name} {_TYPES[kind]} NOT NULL" for name, kind in table.columns)
    yield f"CREATE TABLE {table.name} ({columns}, PRIMARY KEY ({', '.join(table.key)}))"
    for name, kind in table.columns:
        if kind == "BLOB":  # what is long is compressed, or a hash, already
            yield f"ALTER TABLE {table.name} ALTER COLUMN {name} SET STORAGE EXTERNAL"
    if table.name == "runs":
        yield "CREATE INDEX runs_name ON runs (name)"
    if table.name == "loans":
        yield "CREATE INDEX loans_lender ON loans (lender)"
    if table.guards:
        yield from _guarded(table)


def _guarded(table: Table) -> Iterator[str]:
    name = table.name

    def guard(when: str, each: str, function: str = "edgetape_refuse") -> str:
        word = when.split(" ", maxsplit=1)[0].lower()
        return f"CREATE TRIGGER {name}_no_{word} BEFORE {when} ON {name} FOR EACH {each} EXECUTE FUNCTION {function}()"

    yield guard("UPDATE", "ROW")
    yield guard("TRUNCATE", "STATEMENT")
    if name == "events":
        yield guard("INSERT", "ROW", "edgetape_no_second")
    if "no_delete" in table.guards:
        yield guard("DELETE", "ROW", _MAY_GO.get(name, "edgetape_refuse"))


_MAY_GO = {
    "events": "edgetape_event_goes",
    "event_blocks": "edgetape_run_goes",
    "annotations": "edgetape_run_goes",
}
# Each is bound to the schema that it is made in: whoever deletes cannot put other tables in the place of those it asks.
_BOUND = "LANGUAGE plpgsql SET search_path FROM CURRENT"
_REFUSED = "RAISE EXCEPTION '% are never changed', TG_TABLE_NAME;"
_PRUNED = (
    '(SELECT position(\'"type":"retention.pruned"\'::bytea IN leaf) > 0'
    " AND position(convert_to('\"run\":\"' || OLD.run || '\"', 'UTF8') IN leaf) > 0"
    " FROM leaves WHERE position = (SELECT MAX(position) FROM leaves))"
)
_COVERING = (
    "SELECT 1 FROM event_blocks b WHERE b.run = {0}.run AND b.first <= {0}.seq"
    " AND {0}.seq < b.first + length(b.hashes) / 32"
)
_FUNCTIONS = f"""
CREATE FUNCTION edgetape_refuse() RETURNS trigger {_BOUND} AS $$ BEGIN {_REFUSED} END $$;
CREATE FUNCTION edgetape_no_second() RETURNS trigger {_BOUND} AS $$ BEGIN
    IF EXISTS ({_COVERING.format("NEW")}) THEN {_REFUSED} END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION edgetape_run_goes() RETURNS trigger {_BOUND} AS $$ BEGIN
    IF {_PRUNED} THEN RETURN OLD; END IF;
    {_REFUSED}
END $$;
CREATE FUNCTION edgetape_event_goes() RETURNS trigger {_BOUND} AS $$ BEGIN
    IF EXISTS ({_COVERING.format("OLD")} AND substr(b.hashes, ((OLD.seq - b.first) * 32 + 1)::int, 32) = OLD.hash)
        OR {_PRUNED} THEN RETURN OLD; END IF;
    {_REFUSED}
END $$;
"""
