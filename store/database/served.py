"""Opening a store in PostgreSQL, and making its tables where there are none (docs/postgresql.md)."""

import contextlib

from store import schema
from store.core.address import Server
from store.core.errors import StoreUnusable
from store.database import tables
from store.database.connection import Fault
from store.database.postgres import Postgres, number_of


def open_for_writing(known: Server) -> Postgres:
    """A connection that writes; the store is made where there is none. Raises Fault, StoreUnusable."""
    connection = Postgres(known, writes=True)
    try:
        _make(connection, known)
    except Exception:
        connection.close()
        raise
    return connection


def open_for_reading(known: Server) -> Postgres:
    """A connection that reads. Raises Fault, StoreUnusable."""
    connection = Postgres(known, writes=False)
    try:
        if not _applied(connection, known):
            raise StoreUnusable(
                f"there is no store at {known.url}", hint="record a run first, or name another store with --store"
            )
    except Exception:
        connection.close()
        raise
    return connection


def password_of(known: Server) -> str:
    """See `store.database.server.Driver`."""
    with contextlib.closing(Postgres(known, writes=False)) as connection:
        return connection.password


def _make(connection: Postgres, known: Server) -> None:
    if _applied(connection, known) >= schema.known():
        return
    if connection.one("SHOW server_encoding") != "UTF8":
        raise StoreUnusable(f"the database {known.url} is not in UTF-8", hint="createdb --encoding UTF8")
    connection.run("BEGIN ISOLATION LEVEL READ COMMITTED")
    try:
        connection.lock(number_of(str(connection.one("SELECT current_schema()"))))
        applied = _applied(connection, known)
        if not applied:
            connection.run(tables.own())
        for table in tables.tables():
            if not connection.has_table(table.name):
                for statement in tables.made(table):
                    connection.run(statement)
        for name in sorted(schema.known() - applied):
            connection.execute(f"INSERT INTO {tables.MIGRATIONS} (name) VALUES (?)", (name,))
        connection.run("COMMIT")
    except Exception:
        with contextlib.suppress(Fault):
            connection.run("ROLLBACK")
        raise


def _applied(connection: Postgres, known: Server) -> frozenset[str]:
    """The migrations of a store; none where there is no store yet. Raises StoreUnusable where another program's tables
    are.
    """
    if connection.one("SELECT current_schema()") is None:
        raise StoreUnusable(f"there is no schema at {known.url} to keep a store in", hint="docs/postgresql.md")
    if not connection.has_table(tables.MIGRATIONS):
        taken = [table.name for table in tables.tables() if connection.has_table(table.name)]
        if taken:
            raise StoreUnusable(
                f"the database {known.url} is no store of edgetape, and has a table {taken[0]}",
                hint="name another database, or schema, with --store",
            )
        return frozenset()
    rows = connection.execute(f"SELECT name FROM {tables.MIGRATIONS}")
    applied = frozenset(str(name) for (name,) in rows)
    if applied - schema.known():
        raise StoreUnusable(
            f"the store {known.url} was written by a newer version of edgetape",
            hint="upgrade edgetape, or name another store",
        )
    return applied
