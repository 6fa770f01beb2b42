"""Makes a store with runs in it: what a test writes down, or what a seed gives; all through the real writer."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from store.annotations import Remark, annotating
from store.core import chunks
from store.core.chunks import Chunk
from store.core.draft import Draft, Sheet
from store.core.model import Agent, HttpRequest, HttpResponse, Mode, Note, Policies, RunOpen
from store.core.redact import stored
from store.ticket import Ticket
from store.vault import Vault
from store.writer import Writer

type Fields = Sequence[tuple[bytes, bytes]]

JSON: Fields = ((b"content-type", b"application/json"),)


@dataclass(frozen=True, slots=True)
class Call:
    """One request and its answer, as they are to be stored. `answer` None leaves the request without its outcome."""

    path: bytes = b"/v1/chat/completions"
    body: bytes = b""
    answer: bytes | None = b"{}"
    method: bytes = b"POST"
    host: bytes = b"api.example.test"
    query: bytes = b""
    headers: Fields = JSON
    status: int = 200
    answer_headers: Fields = JSON
    pieces: Sequence[Chunk] = ()


@dataclass(slots=True)
class Tape:
    """A store that is being filled; `folder` and `keys` are what `Writer.open` and `verify` take."""

    folder: Path
    keys: Path
    writer: Writer

    def open(self, name: str = "", mode: Mode = "record", argv: Sequence[bytes] = ()) -> str:
        """Begins a run; its id."""
        sheet = Sheet()
        agent = Agent(argv=sheet.apart(stored(b"\0".join(argv))) if argv else None)
        run, _ = self.writer.open_run(sheet.draft(opening(name, mode, agent)))
        return run

    def request(self, run: str, call: Call, *, streaming: bool = False) -> Ticket:
        """The request of `call`."""
        return self.writer.append(run, request(call, streaming=streaming))

    def answer(self, run: str, call: Call, asked: Ticket) -> Ticket:
        """The answer of `call`."""
        return self.writer.append(run, response(call), after=asked)

    def note(self, run: str, content: bytes) -> Ticket:
        """A note of the agent."""
        return self.writer.append(run, note(content))

    def annotate(self, run: str, seq: int, text: str, supersedes: int | None = None) -> int:
        """Says something about an event, on record; the number of the annotation."""
        numbers: list[int] = []
        remark = Remark(run, seq, "somebody", "comment", stored(text.encode()), supersedes)
        self.writer.change(annotating(remark, Vault(self.keys, self.writer.origin), numbers.append)).result(30)
        return numbers[0]

    def run(self, calls: Sequence[Call], name: str = "", *, mode: Mode = "record", close: bool = True) -> str:
        """A whole run of these exchanges, one after the other; its id."""
        run = self.open(name, mode)
        for call in calls:
            asked = self.request(run, call)
            if call.answer is not None:
                self.answer(run, call, asked)
        if close:
            self.writer.close_run(run, "agent_exit", exit_code=0).result()
        return run


@contextmanager
def tape(base: Path) -> Iterator[Tape]:
    """A store in `base`/store with its key in `base`/keys; when it ends, all is on disk and signed."""
    writer = Writer.open(base / "store", base / "keys")
    try:
        yield Tape(base / "store", base / "keys", writer)
    finally:
        writer.close()


def seeded(source: random.Random, count: int) -> list[Call]:
    """`count` exchanges such as agents have, decided by `source`: most small, some streamed, a few large or binary."""
    return [_seeded(source, number) for number in range(count)]


def opening(name: str = "", mode: Mode = "record", agent: Agent | None = None) -> RunOpen:
    """What stands in event 0; the writer fills in the origin."""
    return RunOpen(
        origin="",
        mode=mode,
        recorder="tape/1",
        clock="system",
        policies=Policies(redaction="none/1", classification="none/1"),
        agent=agent or Agent(),
        name=name or None,
    )


def request(call: Call, *, streaming: bool = False) -> Draft:
    """`http.request`."""
    sheet = Sheet()
    return sheet.draft(
        HttpRequest(
            method=sheet.text(stored(call.method)),
            scheme="https",
            host=sheet.text(stored(call.host)),
            port=443,
            path=sheet.text(stored(call.path)),
            http_version="HTTP/1.1",
            headers=sheet.pairs([(stored(name), stored(value)) for name, value in call.headers]),
            query=sheet.apart(stored(call.query)) if call.query else None,
            body=sheet.apart(stored(call.body)) if call.body and not streaming else None,
            streaming=streaming,
        )
    )


def response(call: Call) -> Draft:
    """`http.response`; its request is named by the writer."""
    sheet = Sheet()
    return sheet.draft(
        HttpResponse(
            req=-1,
            status=call.status,
            http_version="HTTP/1.1",
            headers=sheet.pairs([(stored(name), stored(value)) for name, value in call.answer_headers]),
            ended="complete",
            framing="chunked" if call.pieces else "length",
            body=sheet.apart(stored(call.answer)) if call.answer else None,
            chunks=sheet.apart(stored(chunks.encode(call.pieces))) if call.pieces else None,
        )
    )


def note(content: bytes) -> Draft:
    """A note of the kind `state`."""
    sheet = Sheet()
    return sheet.draft(Note(kind="state", body=sheet.apart(stored(content))))


def _seeded(source: random.Random, number: int) -> Call:
    kind = source.choices(("chat", "stream", "tool", "large", "binary"), (5, 3, 5, 1, 1))[0]
    body = f'{{"model":"scripted-1","n":{number},"seed":{source.randrange(10**9)}}}'.encode()
    match kind:
        case "stream":
            lengths = [source.randrange(1, 400) for _ in range(source.randrange(1, 20))]
            pieces = [Chunk(length, source.randrange(1, 10**6)) for length in lengths]
            return Call(body=body, answer=source.randbytes(sum(lengths)), pieces=pieces)
        case "tool":
            return Call(b"/rules.json", answer=body, method=b"GET", query=b"jurisdiction=GB&n=%d" % number)
        case "large":
            return Call(body=body * source.randrange(100, 2000), answer=body)
        case "binary":
            return Call(b"/files/%d" % number, body=source.randbytes(3000), answer=source.randbytes(3000))
    return Call(body=body, answer=body)
