"""A connection to a store in PostgreSQL: the one module that speaks to the server (psycopg; docs/postgresql.md).

Rules kept here:
- One writer at a time, as SQLite has it: a transaction that writes holds an advisory lock of the store until it ends.
- A commit returns when the server has it on its disk, whatever the server's own default is.
- A connection that was lost is made anew for the next transaction, never within one.
- The lease of a writer is a lock of its session: it goes when the recorder, or its way to the server, is gone.
- What psycopg raises ends here, without a password and without a value of a row.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import psycopg
from psycopg.pq import TransactionStatus

from store.core.address import Server
from store.database import tables
from store.database.connection import Fault, Rows, Served, Value
from store.database.dialect import translated

BUSY_TIMEOUT_S = 10
_LOCKS = 0x65646765  # "edge": the class of our advisory locks
_LEASES = 0x65646768
_GIVEN = {
    "connect_timeout": "10",
    "application_name": "edgetape",
    "client_encoding": "UTF8",
    # A server that is gone is to be noticed within seconds, by both sides.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_ALIKE = (
    f"SET lock_timeout = '{BUSY_TIMEOUT_S}s'; SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;"
    " SET tcp_keepalives_count = 3; SET default_transaction_isolation = 'repeatable read';"
)
_WRITING = (
    " SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') IN ('off', 'local')"
)
_READING = " SET default_transaction_read_only = on"
_HINTS = {
    "28": "give the password in ~/.pgpass or PGPASSWORD; docs/postgresql.md",
    "3D": "make the database first: createdb",
    "42501": "this role may not do that: docs/postgresql.md says which may",
    "53100": "the server's disk is full: make room and try again",
    "55P03": "another program holds the store locked: end it, or wait",
}


class _Nothing:
    """What is found by a statement that finds nothing."""

    def __iter__(self) -> Iterator[tuple[()]]:
        return iter(())

    def fetchone(self) -> None:
        """No row."""

    def fetchall(self) -> list[tuple[()]]:
        """No rows."""
        return []


_NOTHING = _Nothing()


class Postgres(Served):
    """One connection; `store.database.Connection` says what it does."""

    def __init__(self, known: Server, *, writes: bool) -> None:
        self._known, self._writes = known, writes
        self._open = False
        self._lock = 0
        self._leases: set[int] = set()
        self._held: set[int] = set()
        self._raw = self._connected()

    @property
    def in_transaction(self) -> bool:
        """See Connection."""
        return self._open

    def execute(self, sql: str, parameters: Sequence[Value] = (), /) -> Rows:
        """See Connection."""
        match sql:
            case "BEGIN IMMEDIATE":
                return self._begin()
            case "BEGIN":
                self._revive()
                self._open = True
            case "COMMIT" | "ROLLBACK":
                return self._end(sql)
        if not self._open:
            self._revive()
        statement = translated(sql)
        with _told():
            return self._raw.execute(statement.sql, statement.bound(parameters))

    def executemany(self, sql: str, parameters: Iterable[Sequence[Value]], /) -> Rows:
        """See Connection."""
        statement = translated(sql)
        with _told():
            cursor = self._raw.cursor()
            cursor.executemany(statement.sql, (statement.bound(each) for each in parameters))
            return cursor

    @property
    def password(self) -> str:
        """What the server was given, be it from the URL, the environment or a file."""
        return self._raw.info.password

    def close(self) -> None:
        """See Connection."""
        self._raw.close()

    def run(self, statements: str) -> None:
        """Runs statements that are PostgreSQL's own and bring no values."""
        with _told():
            self._raw.execute(statements)

    def one(self, sql: str, *values: Value) -> Value:
        """The one value that a statement of PostgreSQL's own gives."""
        with _told():
            row = self._raw.execute(sql, values).fetchone()
        return None if row is None else cast("Value", row[0])

    def write_anew(self) -> bool:
        """See Served."""
        try:
            for table in tables.tables():
                if self.has_table(table.name):
                    self.run(f"VACUUM (FULL) {table.name}")
            self.run(f"UPDATE {tables.STATE} SET untidy = 0 WHERE untidy <> 0")
        except Fault:
            return False
        return True

    def note_untidy(self) -> None:
        """See Served."""
        self.run(f"UPDATE {tables.STATE} SET untidy = 1")

    def is_untidy(self) -> bool:
        """See Served."""
        return bool(self.one(f"SELECT untidy FROM {tables.STATE}"))

    def hurry(self) -> None:
        """See Served."""
        self.run("SET lock_timeout = '1ms'")

    def has_table(self, name: str) -> bool:
        """See Served."""
        return bool(self.one("SELECT to_regclass(quote_ident(current_schema()) || '.' || %s) IS NOT NULL", name))

    def may_delete(self) -> bool:
        """See Served."""
        return bool(self.one("SELECT has_table_privilege('events', 'DELETE')"))

    def hold(self, owner: str) -> None:
        """See Served."""
        self._leases.add(number_of(owner))
        self._hold()

    @contextmanager
    def inherited(self, owner: str) -> Iterator[bool]:
        """See Served."""
        number = number_of(owner)
        dead = bool(self.one(f"SELECT pg_try_advisory_lock({_LEASES}, %s)", number))
        try:
            yield dead
        finally:
            if dead and self._raw.info.transaction_status != TransactionStatus.INERROR:
                self.one(f"SELECT pg_advisory_unlock({_LEASES}, %s)", number)

    def lock(self, number: int) -> None:
        """Keeps other writers out until the transaction ends."""
        self.one(f"SELECT pg_advisory_xact_lock({_LOCKS}, %s)", number)

    def _begin(self) -> Rows:
        try:
            self._begun()
        except Fault:
            if not self._raw.closed:
                raise
            # Lost since the last transaction: nothing of this one was done.
            self._revive()
            self._begun()
        self._open = True
        try:
            # By the table, so that stores in several schemas of one database do not wait for one another.
            self._lock = self._lock or int(str(self.one("SELECT mod('leaves'::regclass::oid::bigint, 2147483647)")))
            self.lock(self._lock)
        except Fault:
            self._end("ROLLBACK")
            raise
        return _NOTHING

    def _begun(self) -> None:
        self._revive()
        self._hold()
        self.run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")

    def _end(self, how: str) -> Rows:
        self._open = False
        # The server would undo a transaction that has failed, and say that all is well.
        if how == "COMMIT" and self._raw.info.transaction_status != TransactionStatus.INTRANS:
            how = "FAILED"
        if not self._raw.closed:
            self.run(how if how == "COMMIT" else "ROLLBACK")
        if how == "FAILED":
            raise Fault("the transaction has failed before")
        return _NOTHING

    def _hold(self) -> None:
        for number in self._leases - self._held:
            # Where the server has not yet noticed that our last session is gone the lock is still that one's.
            if self.one(f"SELECT pg_try_advisory_lock({_LEASES}, %s)", number):
                self._held.add(number)

    def _revive(self) -> None:
        if self._raw.closed:
            self._held = set()
            self._raw = self._connected()

    def _connected(self) -> "psycopg.Connection[tuple[object, ...]]":
        with _told():
            password = {"password": self._known.password} if self._known.password else {}
            given = {**_GIVEN, **psycopg.conninfo.conninfo_to_dict(self._known.url), **password}
            if self._known.way:
                given |= {"host": self._known.way, "hostaddr": None}
            raw = psycopg.connect(psycopg.conninfo.make_conninfo("", **given), autocommit=True)
            try:
                raw.execute(_ALIKE + (_WRITING if self._writes else _READING))
            except psycopg.Error:
                raw.close()
                raise
        return raw


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise Fault(_sentence(error), _hint(error)) from None


def _sentence(error: psycopg.Error) -> str:
    """What the server says without its details, which may quote a row; or the first line of what psycopg says."""
    said = error.diag.message_primary or next(iter(str(error).splitlines()), "") or "it says nothing"
    return " ".join(said.split()).rstrip(".")


def _hint(error: psycopg.Error) -> str:
    state = error.sqlstate or ""
    found = next((hint for code, hint in _HINTS.items() if state.startswith(code)), "")
    if not found and isinstance(error, psycopg.OperationalError):  # which has no state before there is a session
        found = next(
            (_HINTS[code] for code, word in (("28", "password"), ("3D", 'database "')) if word in str(error)), ""
        )
    lost = state[:2] in {"", "08", "57"} and isinstance(error, psycopg.OperationalError)
    return found or ("see that the server runs, and that this machine reaches it" if lost else "")


def number_of(word: str) -> int:
    """What stands for a word in an advisory lock: 31 bits of its digest."""
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) >> 1
