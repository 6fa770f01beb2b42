"""A recorder over a throw-away store, and what it has recorded, for tests."""

import contextlib
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from addons.options import RecorderOptions
from addons.recorder import Recorder
from store.authority import Authority
from store.core.event import Event
from store.core.model import Fact, HttpRequestEnd
from store.drafting.desk import Desk
from store.drafting.scribe import Scribe
from store.exchange import Exchange, exchanges
from store.reader import Reader, RunInfo
from store.writer import Writer


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorder at work; what it has recorded is read through a reader of its own."""

    folder: Path
    recorder: Recorder
    authority: Path

    @property
    def proxy(self) -> str:
        return f"http://127.0.0.1:{self.recorder.port}"

    @property
    def keys(self) -> Path:
        return self.folder.parent / "keys"

    def reader(self) -> Reader:
        return Reader.open(self.folder, self.keys)

    def run(self, word: str) -> RunInfo:
        with self.reader() as reader:
            return reader.find(word)

    def events(self, word: str = "last") -> list[Event]:
        with self.reader() as reader:
            return list(reader.events(reader.find(word).id))

    def facts(self, word: str = "last") -> list[Fact]:
        return [event.facts for event in self.events(word)]

    def exchanges(self, word: str = "last") -> list[Exchange]:
        return exchanges(self.events(word))

    def request_body(self, exchange: Exchange) -> bytes:
        with self.reader() as reader:
            return reader.body(exchange.request, exchange.facts.body)

    def response_body(self, exchange: Exchange) -> bytes:
        assert exchange.outcome is not None
        assert exchange.response is not None
        with self.reader() as reader:
            return reader.body(exchange.outcome, exchange.response.body)

    def upload(self, exchange: Exchange) -> tuple[str, bytes]:
        """How a streamed upload ended, and what came of it."""
        assert exchange.upload is not None
        facts = exchange.upload.facts
        assert isinstance(facts, HttpRequestEnd)
        with self.reader() as reader:
            return facts.ended, reader.body(exchange.upload, facts.body)

    def request_headers(self, exchange: Exchange) -> list[tuple[bytes, bytes]]:
        with self.reader() as reader:
            return reader.pairs(exchange.request, exchange.facts.headers)


class Disk:
    """The connection of a store whose disk can be said to be full."""

    def __init__(self) -> None:
        self.full = False

    def connect(self, path: Path) -> sqlite3.Connection:
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
                if disk.full and sql.startswith("BEGIN"):
                    raise sqlite3.OperationalError("database or disk is full")
                return super().execute(sql, *values)  # type: ignore[arg-type]

        return sqlite3.connect(path, factory=Connection, isolation_level=None, check_same_thread=False)


@asynccontextmanager
async def recording(folder: Path, disk: Disk | None = None, **changes: object) -> AsyncIterator[Recording]:
    """Records while a `with` block lasts; the runs are closed at its end, the store stays."""
    writer = Writer.open(folder / "store", folder / "keys", *([disk.connect] if disk else []))
    with contextlib.closing(Desk(writer)) as desk:
        async with recording_by(desk, folder, **changes) as made:
            yield made


@asynccontextmanager
async def recording_by(scribe: Scribe, folder: Path, **changes: object) -> AsyncIterator[Recording]:
    """The same by a scribe of the store in `folder`."""
    authority = Authority.open_or_create(folder / "authority")
    options = replace(RecorderOptions(confdir=authority.folder), **changes)  # type: ignore[arg-type]
    recorder = Recorder(scribe, options)
    await recorder.start()
    try:
        yield Recording(folder / "store", recorder, authority.certificate_path)
    finally:
        await recorder.stop()
