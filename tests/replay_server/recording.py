"""Makes recorded runs for the tests of this wing with the real writer, and runs a replay server over them."""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack
from urllib.parse import urlsplit

from replay_server.server import ReplayOptions, ReplayServer
from store.authority import Authority
from store.core import chunks, digest
from store.core.chunks import Chunk
from store.core.draft import Draft, Sheet
from store.core.model import (
    Agent,
    Ended,
    ErrorKind,
    Framing,
    HttpError,
    HttpRequest,
    HttpRequestEnd,
    HttpResponse,
    Parent,
    Policies,
    RunOpen,
    RunSpawn,
    TunnelClose,
    TunnelOpen,
)
from store.core.redact import Redactor, stored
from store.drafting.seen import Reason
from store.reader import Reader
from store.ticket import Ticket
from store.writer import Writer

type Pairs = Sequence[tuple[bytes, bytes]]

JSON = ((b"Content-Type", b"application/json"),)
EVENTS = ((b"Content-Type", b"text/event-stream"), (b"Cache-Control", b"no-cache"))
CHAT = "https://api.openai.com/v1/chat/completions"


class Outcome(TypedDict, total=False):
    """What `Recording.answer` takes beside the body."""

    status: int
    headers: Pairs
    framing: Framing
    ended: Ended
    cuts: Sequence[tuple[int, int]]
    trailers: Pairs
    truncated: bool
    interim: Pairs


@dataclass
class Recording:
    """One run, written with the real writer; every method appends an exchange."""

    writer: Writer
    redactor: Redactor = field(default_factory=Redactor)
    name: str | None = None
    parent: Parent | None = None
    run: str = ""
    last: Ticket | None = None

    def __post_init__(self) -> None:
        facts = RunOpen(
            origin="",
            mode="record",
            recorder="t",
            clock="system",
            policies=Policies(redaction="r", classification="c"),
            agent=Agent(),
            name=self.name,
            parent=self.parent,
        )
        self.run, self.last = self.writer.open_run(Draft(facts))

    def child(self, name: str) -> "Recording":
        """A child run; close it before this one."""
        assert self.last is not None
        placed = self.last.result(30)
        assert placed is not None
        made = Recording(self.writer, name=name, parent=Parent(self.run, placed.seq, placed.hash.hex()))
        genesis = digest.genesis_prev(self.writer.origin, made.run).hex()
        self.writer.append(self.run, Draft(RunSpawn(child=made.run, genesis=genesis)))
        return made

    def ask(
        self, method: str, url: str, body: bytes = b"", headers: Pairs = JSON, *, streaming: bool = False
    ) -> Ticket:
        """A request; its outcome comes with `answer`, `fail`, or not at all."""
        parts, sheet = urlsplit(url), Sheet()
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        made = HttpRequest(
            method=method,
            scheme=parts.scheme,
            host=parts.hostname or "",
            port=port,
            path=sheet.text(self.redactor.plain(parts.path)),
            http_version="HTTP/1.1",
            headers=sheet.pairs([(stored(name), self.redactor.header(name, value)) for name, value in headers]),
            query=sheet.apart(self.redactor.query(parts.query.encode())) if parts.query else None,
            body=sheet.apart(self.redactor.body(body)) if body else None,
            streaming=streaming,
        )
        return self.writer.append(self.run, sheet.draft(made))

    def answer(
        self,
        request: Ticket,
        body: bytes = b"{}",
        *,
        status: int = 200,
        headers: Pairs = JSON,
        framing: Framing = "length",
        ended: Ended = "complete",
        cuts: Sequence[tuple[int, int]] = (),
        trailers: Pairs = (),
        truncated: bool = False,
        interim: Pairs = (),
    ) -> None:
        """An answer; `cuts` are (bytes, microseconds) for each chunk."""
        sheet = Sheet()
        if framing == "length" and not any(name.lower() == b"content-length" for name, _ in headers):
            headers = (*headers, (b"Content-Length", b"%d" % len(body)))
        table = chunks.encode(Chunk(length, wait_us) for length, wait_us in cuts)
        made = HttpResponse(
            req=-1,
            status=status,
            http_version="HTTP/1.1",
            headers=sheet.pairs([(stored(name), stored(value)) for name, value in headers]),
            ended=ended,
            framing=framing,
            body=sheet.apart(stored(body)) if body else None,
            chunks=sheet.apart(stored(table)) if table else None,
            trailers=sheet.pairs([(stored(name), stored(value)) for name, value in trailers]) if trailers else None,
            truncated=truncated,
            interim=sheet.pairs([(stored(name), stored(value)) for name, value in interim]) if interim else None,
        )
        self.writer.append(self.run, sheet.draft(made), after=request)

    def fail(self, request: Ticket, kind: ErrorKind) -> None:
        """An outcome without a status line."""
        self.writer.append(self.run, Draft(HttpError(req=-1, kind=kind)), after=request)

    def refuse_connect(self, host: str, port: int) -> None:
        """A CONNECT to where nobody answered, as the recorder writes it."""
        facts = HttpRequest(
            method="CONNECT", scheme="", host=host, port=port, path="", http_version="HTTP/1.1", headers=[]
        )
        self.fail(self.writer.append(self.run, Draft(facts)), "connect")

    def tunnel(self, host: str, port: int, reason: Reason = "local") -> None:
        """A tunnel, as a rule a local one."""
        opened = self.writer.append(self.run, Draft(TunnelOpen(host=host, port=port, reason=reason)))
        end = TunnelClose(open=-1, sent_bytes=1, received_bytes=1, duration_us=1)
        self.writer.append(self.run, Draft(end), after=opened)

    def get(self, url: str, body: bytes = b"{}", **more: Unpack[Outcome]) -> None:
        """A whole GET exchange."""
        self.answer(self.ask("GET", url, headers=()), body, **more)

    def post(self, url: str, asked: object, body: bytes = b"{}", **more: Unpack[Outcome]) -> None:
        """A whole POST exchange with a JSON body, as the usual clients of providers send it."""
        headers = (*JSON, (b"Accept", b"application/json"))
        self.answer(self.ask("POST", url, encode(asked), headers), body, **more)

    def upload(self, url: str, asked: bytes, body: bytes) -> None:
        """A POST whose body was streamed: it comes in an event of its own."""
        request = self.ask("POST", url, streaming=True)
        sheet = Sheet()
        ended = HttpRequestEnd(req=-1, ended="complete", body=sheet.apart(self.redactor.body(asked)))
        self.writer.append(self.run, sheet.draft(ended), after=request)
        self.answer(request, body)

    def close(self) -> str:
        """Ends the run; its id."""
        self.writer.close_run(self.run, "agent_exit", exit_code=0).result(120)
        return self.run


def encode(value: object) -> bytes:
    """JSON bytes."""
    return json.dumps(value).encode()


def chat(*messages: tuple[str, str], model: str = "m1", **more: object) -> dict[str, object]:
    """An OpenAI chat request."""
    return {"model": model, "messages": [{"role": role, "content": text} for role, text in messages], **more}


def completion(text: str) -> bytes:
    """An OpenAI chat completion."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return encode({"id": "c1", "object": "chat.completion", "created": 1, "model": "m1", "choices": [choice]})


@dataclass
class Place:
    """A throw-away store and authority."""

    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def authority(self) -> Authority:
        return Authority.open_or_create(self.folder / "authority")

    @property
    def trusted(self) -> str:
        return str(self.authority.certificate_path)

    def writer(self) -> Writer:
        return Writer.open(self.store, self.keys)

    def record(self, tell: Callable[[Recording], None]) -> str:
        """Records a run as `tell` says; its id."""
        writer = self.writer()
        try:
            recording = Recording(writer)
            tell(recording)
            return recording.close()
        finally:
            writer.close()

    def lose_bodies(self, run: str) -> None:
        """Takes the stored bodies of a run away, as an accident would."""
        with closing(sqlite3.connect(self.store / "edgetape.db")) as connection, connection:
            for table in ("payloads", "blocks"):
                connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))

    @asynccontextmanager
    async def replaying(self, run: str, options: ReplayOptions | None = None) -> AsyncIterator[ReplayServer]:
        """A replay server over `run`; call its `stop` inside."""
        writer = self.writer()
        try:
            with Reader.open(self.store, self.keys) as reader:
                server = ReplayServer(reader, writer, reader.run(run), self.authority, options or ReplayOptions())
                await server.start()
                try:
                    yield server
                finally:
                    await server.stop(None)
        finally:
            writer.close()
