"""The Responses API over a WebSocket, scripted: each `response.create` is answered by its events, a message each.

What else is asked for over HTTP gets a 404. A message that goes on from the response before (`previous_response_id`)
sends only what is new of the conversation; one with `generate` false wants no answer of the model.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from tests.support import responses_shape
from tests.support.dialogue import Json, Script, plan

PATH = "/v1/responses"


@dataclass(slots=True)
class ResponsesSocket:
    """The server; `asked` has the body of each message, in the order of arrival."""

    script: Script
    port: int = 0
    asked: list[dict[str, Json]] = field(default_factory=list)

    async def start(self, context: ssl.SSLContext) -> Server:
        """Listen on a free port."""
        server = await serve(self._converse, "127.0.0.1", 0, ssl=context, process_request=self._admit)
        self.port = next(iter(server.sockets)).getsockname()[1]
        return server

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        return None if request.path == PATH else connection.respond(404, "there is nothing here\n")

    async def _converse(self, connection: ServerConnection) -> None:
        said: list[Json] = []
        try:
            async for text in connection:
                body = json.loads(text)
                self.asked.append(body)
                said = [*(said if body.get("previous_response_id") else []), *body["input"]]
                script = Script(final="") if body.get("generate") is False else self.script
                turn = plan({**body, "input": said}, len(self.asked), script)
                for event in responses_shape.events(turn):
                    await connection.send(event.partition(b"data: ")[2].decode().strip())
        except ConnectionClosed:
            pass  # the agent is done, and need not say so


@contextmanager
def socket_serving(tls: tuple[Path, Path], script: Script) -> Iterator[ResponsesSocket]:
    """Run one on a thread of its own for the length of a `with` block."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*tls)
    served = ResponsesSocket(script)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="scripted-socket", daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(served.start(context), loop).result(10)
    try:
        yield served
    finally:
        server.close()
        asyncio.run_coroutine_threadsafe(server.wait_closed(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
