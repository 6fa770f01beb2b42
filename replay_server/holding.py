"""Holds one answer of the server while a person looks at it, and keeps its client from giving up."""

import asyncio

from msgspec.structs import replace

from replay_server.answer import Reply
from replay_server.caller import Line
from replay_server.injection import Injection
from replay_server.pause import Held, Pause

KEEP_ALIVE_S = 10.0
_COMMENT = b": edgetape holds this answer\n\n"


async def hold(pause: Pause, reply: Reply, line: Line) -> Reply:
    """The answer that goes out in the end. A client that leaves cancels this.

    An event stream that is held longer than KEEP_ALIVE_S begins, and gets comments (WHATWG HTML, section 9.2), which
    every reader of such streams passes over.
    """
    if reply.step is None or reply.recorded is None or reply.remade is None or not pause.wants(reply.step):
        return reply
    held = Held(reply.step, reply.place, reply.recorded)
    holding = asyncio.ensure_future(pause.hold(held))
    streams = b"text/event-stream" in reply.answer.head and b"\r\nTransfer-Encoding: chunked" in reply.answer.head
    try:
        while not (await asyncio.wait({holding}, timeout=KEEP_ALIVE_S if streams else None))[0]:
            if not held.has_begun:
                await line.put(reply.answer.head)
                held.has_begun = True
            await line.put(b"%x\r\n%s\r\n" % (len(_COMMENT), _COMMENT))
    except (asyncio.CancelledError, ConnectionError):
        holding.cancel()
        raise
    injection = holding.result()
    if injection != Injection():
        reply = reply.remade(injection.apply(reply.recorded))
    return replace(reply, answer=replace(reply.answer, head=b"")) if held.has_begun else reply
