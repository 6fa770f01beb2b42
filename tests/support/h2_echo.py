"""An HTTP/2 echo server over TLS, written on hyper-h2: method, path, headers and body come back as JSON.

    python -m tests.support.h2_echo --tls CERT KEY [--port 0]

`/stream?n=3&ms=100` sends so many DATA frames that far apart; `/reset?after=N` resets the stream after N body
bytes; `/trailers` ends with the trailer `x-checksum: scripted`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, RequestReceived, StreamEnded, StreamReset


@dataclass(slots=True)
class Incoming:
    """A request whose body is still coming."""

    headers: list[tuple[str, str]]
    body: bytearray = field(default_factory=bytearray)


class EchoProtocol(asyncio.Protocol):
    """One HTTP/2 connection; small answers only, so no flow control beyond the initial window."""

    def __init__(self) -> None:
        self._http = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self._incoming: dict[int, Incoming] = {}
        self._answers: set[asyncio.Task[None]] = set()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._http.initiate_connection()
        self._flush()

    def data_received(self, data: bytes) -> None:
        for event in self._http.receive_data(data):
            if isinstance(event, RequestReceived):
                headers = [(str(name), str(value)) for name, value in event.headers]
                self._incoming[event.stream_id] = Incoming(headers)
                self.begun(event.stream_id, headers)
            elif isinstance(event, DataReceived):
                self._incoming[event.stream_id].body += event.data
                self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                task = asyncio.ensure_future(self._answer(event.stream_id))
                self._answers.add(task)
                task.add_done_callback(self._answers.discard)
            elif isinstance(event, StreamReset):
                self._incoming.pop(event.stream_id, None)
            elif isinstance(event, ConnectionTerminated) and self._transport is not None:
                self._transport.close()
        self._flush()

    def begun(self, stream: int, headers: list[tuple[str, str]]) -> None:
        """What is said to a request before its body has come: nothing."""

    def connection_lost(self, exc: Exception | None) -> None:
        for task in self._answers:
            task.cancel()

    def _flush(self) -> None:
        if self._transport is not None and (pending := self._http.data_to_send()):
            self._transport.write(pending)

    async def _answer(self, stream: int) -> None:
        request = self._incoming.pop(stream)
        said = dict(request.headers)
        place = urlsplit(said[":path"])
        query = dict(parse_qsl(place.query))
        pieces = _pieces(request, place.path, query)
        kind = "text/event-stream" if place.path == "/stream" else "application/json"
        self._http.send_headers(stream, [(":status", "200"), ("content-type", kind)])
        left = int(query["after"]) if place.path == "/reset" else None
        for number, piece in enumerate(pieces):
            if number:
                await asyncio.sleep(int(query.get("ms", "0")) / 1000)
            self._http.send_data(stream, piece if left is None else piece[:left])
            self._flush()
        if left is not None:
            await asyncio.sleep(0.05)
            self._http.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
        elif place.path == "/trailers":
            self._http.send_headers(stream, [("x-checksum", "scripted")], end_stream=True)
        else:
            self._http.end_stream(stream)
        self._flush()


def _pieces(request: Incoming, path: str, query: dict[str, str]) -> list[bytes]:
    if path == "/stream":
        return [b"data: %d\n\n" % number for number in range(int(query.get("n", "3")))]
    body = request.body.decode("latin-1")
    return [json.dumps({"headers": request.headers, "body": body, "http": "2"}).encode()]


async def _run(port: int, tls: tuple[Path, Path]) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*tls)
    context.set_alpn_protocols(["h2"])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(EchoProtocol, "127.0.0.1", port, ssl=context)
    port = server.sockets[0].getsockname()[1]
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    url = f"https://127.0.0.1:{port}"
    print(json.dumps({"port": port, "url": url, "pid": os.getpid()}), flush=True)
    await ended.wait()
    server.close()


def main(argv: list[str] | None = None) -> None:
    """Serve until TERM or INT."""
    parser = argparse.ArgumentParser(prog="tests.support.h2_echo")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls", nargs=2, type=Path, required=True, metavar=("CERT", "KEY"))
    given = parser.parse_args(argv)
    asyncio.run(_run(given.port, (given.tls[0], given.tls[1])))


if __name__ == "__main__":
    main()
