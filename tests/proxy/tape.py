"""A small recorded run, written through the real writer, for tests of what the commands show."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

from proxy.agent.identity import Introduction, run_open
from store.core import chunks
from store.core.chunks import Chunk
from store.core.draft import Draft, Sheet
from store.core.model import HttpError, HttpRequest, HttpResponse, TunnelClose, TunnelOpen
from store.core.redact import Redactor
from store.ticket import Ticket
from store.writer import Writer

QUESTION = {"model": "scripted-1", "messages": [{"role": "user", "content": "Is GB-SCT risky?"}]}
EVENTS = (
    b'data: {"id":"chatcmpl-1","model":"scripted-1","choices":[{"index":0,"delta":{"content":"low "}}]}\n\n'
    b'data: {"id":"chatcmpl-1","model":"scripted-1","choices":[{"index":0,"delta":{"content":"risk"}}]}\n\n'
    b"data: [DONE]\n\n"
)


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the settings of one test point."""

    store: Path
    keys: Path
    authority: Path

    @property
    def options(self) -> tuple[str, ...]:
        """The shared options that name them."""
        return (
            f"--store={self.store}",
            f"--keys={self.keys}",
            f"--authority={self.authority}",
        )


def folders(base: Path) -> Folders:
    """Folders beneath a test's own."""
    return Folders(base / "store", base / "keys", base / "authority")


def record_tape(place: Folders, name: str = "contract", *, close: bool = True) -> str:
    """Write one run: a tool lookup in gzip, a streamed model answer, a refused connection, a tunnel."""
    writer = Writer.open(place.store, place.keys)
    try:
        introduction = Introduction(name=name, workflow="review")
        argv = ["python", "agent.py", "--api-key", "sk-very-secret-value"]
        run, _ = writer.open_run(run_open(introduction, argv, Path("/"), {"API_TOKEN": "abc"}, "rules/1"))
        _tool(writer, run)
        _model(writer, run)
        _refused(writer, run)
        _tunnel(writer, run)
        if close:
            writer.close_run(run, "agent_exit", exit_code=0).result()
    finally:
        writer.close()
    return run


def _request(writer: Writer, run: str, path: str, **more: object) -> Ticket:
    redactor, sheet = Redactor(), Sheet()
    body = more.pop("content", b"")
    query = more.pop("raw_query", b"")
    assert isinstance(body, bytes)
    assert isinstance(query, bytes)
    headers = [(b"Host", b"tools.example"), (b"Authorization", b"Bearer sk-live-key"), (b"X-Bell", b"\x1b[31m")]
    facts = HttpRequest(
        method="POST" if body else "GET",
        scheme="https",
        host="tools.example",
        port=443,
        path=path,
        http_version="HTTP/1.1",
        headers=sheet.pairs([(redactor.plain(name), redactor.header(name, value)) for name, value in headers]),
        query=sheet.apart(redactor.query(query)) if query else None,
        body=sheet.apart(redactor.body(body)) if body else None,
        **more,  # type: ignore[arg-type]
    )
    return writer.append(run, sheet.draft(facts))


def _respond(writer: Writer, run: str, request: Ticket, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    redactor, sheet = Redactor(), Sheet()
    facts = HttpResponse(
        req=-1,
        status=200,
        http_version="HTTP/1.1",
        reason="OK",
        headers=sheet.pairs([(redactor.plain(name), redactor.plain(value)) for name, value in headers]),
        ended="complete",
        framing="chunked",
        body=sheet.apart(redactor.body(body)),
        chunks=sheet.apart(redactor.body(chunks.encode([Chunk(len(body), 1500)]))),
        first_byte_us=1500,
        total_us=12_000,
    )
    writer.append(run, sheet.draft(facts), after=request)


def _tool(writer: Writer, run: str) -> None:
    request = _request(writer, run, "/rules.json", raw_query=b"jurisdiction=GB-SCT&key=abc", kind="tool", tool="rules")
    body = gzip.compress(json.dumps({"rows": [], "note": "café"}).encode())
    _respond(writer, run, request, [(b"Content-Type", b"application/json"), (b"Content-Encoding", b"gzip")], body)


def _model(writer: Writer, run: str) -> None:
    request = _request(
        writer,
        run,
        "/v1/chat/completions",
        content=json.dumps(QUESTION).encode(),
        kind="llm",
        model="scripted-1",
        operation="chat",
    )
    _respond(writer, run, request, [(b"Content-Type", b"text/event-stream")], EVENTS)


def _refused(writer: Writer, run: str) -> None:
    request = _request(writer, run, "/dead")
    sheet = Sheet()
    facts = HttpError(req=-1, kind="connect", detail=sheet.apart(Redactor().plain("connection refused")), total_us=900)
    writer.append(run, sheet.draft(facts), after=request)


def _tunnel(writer: Writer, run: str) -> None:
    opened = writer.append(run, Draft(TunnelOpen(host="pinned.example", port=443, reason="pinned")))
    writer.append(
        run, Draft(TunnelClose(open=-1, sent_bytes=1200, received_bytes=3400, duration_us=50_000)), after=opened
    )
