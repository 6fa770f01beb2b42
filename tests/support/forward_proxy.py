"""A plain forward proxy, for chains through a second proxy: CONNECT and absolute-form, nothing intercepted.

    python -m tests.support.forward_proxy [--port 0] [--require USER:PASSWORD] [--to PORT]

It prints one JSON line when it listens, then one JSON line on stderr for every request line it gets.
With `--require` a request without these credentials gets 407; with `--to` the server at that port of this machine
stands for every server that a CONNECT names.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import signal
import sys
from urllib.parse import urlsplit

from tests.support.wire import Request


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except (ConnectionError, OSError):
        writer.close()


class ForwardProxy:
    """One listener; every connection carries one CONNECT or one absolute-form request."""

    def __init__(self, credentials: str | None, stand_in: int | None = None) -> None:
        self._stand_in = stand_in
        self._wanted = None
        if credentials is not None:
            self._wanted = "Basic " + base64.b64encode(credentials.encode()).decode()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client connection to its end."""
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, OSError):
            pass  # either side left: the other is closed below
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = Request(await reader.readuntil(b"\r\n\r\n"))
        print(json.dumps({"line": request.line.decode("latin-1")}), file=sys.stderr, flush=True)
        if self._wanted is not None and request.header("proxy-authorization") != self._wanted:
            challenge = b'Proxy-Authenticate: Basic realm="scripted"\r\nContent-Length: 0\r\n'
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n" + challenge + b"\r\n")
            await writer.drain()
            return
        if request.method == "CONNECT":
            host, _, port = (f"127.0.0.1:{self._stand_in}" if self._stand_in else request.target).rpartition(":")
            upstream = await asyncio.open_connection(host.strip("[]"), int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            place = urlsplit(request.target)
            upstream = await asyncio.open_connection(place.hostname, place.port or 80)
            upstream[1].write(_origin_form(request))
        await asyncio.gather(_pipe(reader, upstream[1]), _pipe(upstream[0], writer))
        upstream[1].close()


def _origin_form(request: Request) -> bytes:
    """The head for the origin: path only, no proxy headers, one request a connection."""
    place = urlsplit(request.target)
    target = (place.path or "/") + (f"?{place.query}" if place.query else "")
    kept = [f"{request.method} {target} HTTP/1.1".encode("latin-1")]
    dropped = (b"proxy-authorization", b"proxy-connection", b"connection")
    kept += [name + b": " + value for name, value in request.headers if name.lower() not in dropped]
    return b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n"


async def _run(port: int, credentials: str | None, stand_in: int | None) -> None:
    proxy = ForwardProxy(credentials, stand_in)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", port)
    port = server.sockets[0].getsockname()[1]
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    url = f"http://127.0.0.1:{port}"
    print(json.dumps({"port": port, "url": url, "pid": os.getpid()}), flush=True)
    await ended.wait()
    server.close()


def main(argv: list[str] | None = None) -> None:
    """Forward until TERM or INT."""
    parser = argparse.ArgumentParser(prog="tests.support.forward_proxy")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--require", metavar="USER:PASSWORD")
    parser.add_argument("--to", type=int, metavar="PORT")
    given = parser.parse_args(argv)
    asyncio.run(_run(given.port, given.require, given.to))


if __name__ == "__main__":
    main()
