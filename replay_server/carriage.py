"""Carries one request out and its answer back, recorded on the way: what a live mode does instead of answering.

Rules kept here:
- The request is on disk before it leaves, the answer before its end reaches the agent.
- A stream is passed on as it comes; an answer of known length is passed on once it is whole.
- Whatever happens, the request gets an outcome.
"""

import asyncio
import time
from dataclasses import dataclass, field

from replay_server.answer import Arrived, Live, Recorded, build, failure, framing_of
from replay_server.caller import Line
from replay_server.live import Outing
from replay_server.modes import Pace
from replay_server.send import reset, send
from replay_server.upstream import Arriving, Upstream
from store.core.chunks import Chunk
from store.core.model import Ended
from store.egress import Unreached

BODY_BYTES_MAX = 256 * 1024 * 1024
_AT_ONCE = Pace()


@dataclass(slots=True)
class _Passing:
    """An answer on its way to the agent: what has come, and when."""

    arriving: Arriving
    live: Live
    began_ns: int
    first_us: int = 0
    last_ns: int = 0
    body: bytearray = field(default_factory=bytearray)
    chunks: list[Chunk] = field(default_factory=list)

    def take(self, piece: bytes) -> None:
        """A piece that has come."""
        now = time.monotonic_ns()
        self.first_us = self.first_us or (now - self.began_ns) // 1000
        self.chunks.append(Chunk(len(piece), (now - (self.last_ns or self.began_ns)) // 1000))
        self.last_ns = now
        self.body += piece
        if len(self.body) > BODY_BYTES_MAX:
            raise Unreached("reset", f"the answer is longer than {BODY_BYTES_MAX >> 20} MiB")

    def recorded(self, ended: Ended) -> Recorded:
        """What has come, as an answer."""
        head = self.arriving
        return Recorded(head.status, head.reason, head.headers, head.framing, ended, bytes(self.body), self.chunks)

    def arrived(self, ended: Ended) -> Arrived:
        """The same with what is known of the way."""
        total_us = (time.monotonic_ns() - self.began_ns) // 1000
        head = self.arriving
        return Arrived(
            self.recorded(ended), head.http_version, head.upstream, head.tls, self.first_us or total_us, total_us
        )


async def carry(outing: Outing, live: Live, upstream: Upstream, line: Line) -> bool:
    """Sends a request out, and its answer to the agent; whether another request may follow.

    Raises StoreUnusable when it could not be recorded first.
    """
    await outing.ticket
    began_ns = time.monotonic_ns()
    try:
        async with upstream.ask(outing.sent) as arriving:
            return await _pass_on(outing, _Passing(arriving, live, began_ns), line)
    except Unreached as error:
        await outing.failed(error.kind, str(error), (time.monotonic_ns() - began_ns) // 1000)
        answer = failure(error.kind, live, str(error).encode())
        if answer.ending == "hold":
            answer = build(Recorded(504, b"", (), "length", "complete", str(error).encode()), live)
        await send(answer, line, _AT_ONCE, 0)
        return answer.keep_alive
    except asyncio.CancelledError:
        outing.failed("client_gone", "", (time.monotonic_ns() - began_ns) // 1000)
        raise


async def _pass_on(outing: Outing, passing: _Passing, line: Line) -> bool:
    opening = passing.recorded("complete")
    framing = framing_of(opening, passing.live)
    head = build(opening, passing.live)
    streams = framing in ("chunked", "close") and passing.live.method != "HEAD" and opening.framing != "none"
    ended: Ended = "recorder_stopped"
    try:
        if streams:
            await line.put(head.head)
        ended = await _pieces(passing, line, framing if streams else "")
    except (ConnectionError, asyncio.CancelledError):
        ended = "client_gone"
        raise
    finally:
        recording = outing.answered(passing.arrived(ended))
    await recording
    if not streams:
        answer = build(passing.recorded(ended), passing.live)
        await send(answer, line, _AT_ONCE, 0)
        return answer.keep_alive and ended == "complete"
    if ended != "complete":
        if line.transport is not None:
            await reset(line.transport)
        return False
    for last in head.pieces:
        await line.put(last.raw)
    return head.keep_alive


async def _pieces(passing: _Passing, line: Line, framing: str) -> Ended:
    """Takes all pieces, and passes them on where they are streamed; how that ended."""
    try:
        async for piece in passing.arriving.pieces:
            passing.take(piece)
            if framing:
                raw = b"%x\r\n%s\r\n" % (len(piece), piece) if framing == "chunked" else piece
                await line.put(raw)
    except Unreached as error:
        return "timeout" if error.kind == "timeout" else "reset"
    return "complete"
