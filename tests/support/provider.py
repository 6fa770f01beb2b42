"""A scripted provider: a model and tool server whose every byte on the wire is under the tests' control.

As a process it prints one JSON line when it listens (port, host, url, pid, tls) and ends on SIGTERM:

    python -m tests.support.provider [--port 0] [--tls CERT KEY] [--script FILE] [--tables FILE]
                                     [--vary [SEED]]

In a test `with serving(Options(...)) as provider:` runs it on a thread: `provider.url`, `.seen()`, `.arm()`.

    POST .../chat/completions   an OpenAI chat completion, or with `"stream": true` its events, one a chunk
                                (`?ms=N`: N ms between them)
    POST .../messages           an Anthropic message, or its events
    POST .../responses          an OpenAI response, or its events
    POST ...enerateContent      what Gemini answers, or (streamGenerateContent) its event
    GET .../models              a list of models
    GET /DB/TABLE.json          rows, when `--tables` has {"DB/TABLE": [row, ...]} (see tables.py)
    GET /_seen                  every request so far: n, line, head_b64, headers, body_b64, chunk_lengths,
                                trailers, tls (asking is not counted; tests.support.seen.ask_seen reads it)
    DELETE /_seen               forgets them
    POST /_arm                  {"fault": "reset-after/100", "path": "/v1/messages", "times": 1}: the next
                                requests under that path get the fault
    anything else               an echo as JSON: method, target, path, headers in order and spelling, and body
                                (or body_b64)

A fault changes the answer. It is asked for by the path `/fault/FAULT` (the plain answer is then the echo), on
any path by the request header `X-Fault: FAULT` or the query member `fault=FAULT` (escaped), or by /_arm:

    reset, close                           a TCP reset, or an orderly close, before the status line
    reset-after/N, close-after/N           the same after N body bytes (too short a body is replaced)
    hang-after/N, timeout                  silence after N body bytes, or without any answer
    status/N?retry_after=S, 429, 503, ...  that status (204 and 304 without a body)
    slow-sse?n=&ms=                        n events, ms apart
    no-length, chunked, chunks/1,7?ms=     ended by the connection; one chunk; chunks of these sizes
    gzip, deflate, br, zstd                the plain answer in that content coding
    zstd-request-echo                      the request's body (gzip or zstd undone) back, in zstd
    big/N?chunked&ms=                      N bytes in pieces of 64 KiB
    half-close                             a whole answer, then only our side is closed
    trailers, early-hints, bad-chunk, odd-headers?long=, redirect?to=

Nothing is random or dated unless `--vary` is given: ids and dates count the requests, texts follow from the
conversation. With `--vary` they also follow from the seed (none given: fresh randomness): two runs differ.
A script (`--script`) is `{"tools": [{"name", "args"}, ...], "final": TEXT}`: see dialogue.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import signal
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.support import answers
from tests.support.dialogue import Json, Script, parse_script
from tests.support.faults import Fault, apply_fault, parse_fault
from tests.support.seen import seen_entry
from tests.support.tables import Tables
from tests.support.wire import HEAD_BYTES_MAX, Answer, Request, read_request, write_answer


@dataclass(frozen=True, slots=True)
class Options:
    """How a provider is to run; `tls` is certificate and key as PEM files."""

    port: int = 0
    host: str = "127.0.0.1"
    tls: tuple[Path, Path] | None = None
    script: Script = field(default_factory=Script)
    tables: Tables = field(default_factory=dict)


@dataclass(slots=True)
class Armed:
    """A fault that waits for requests under a path."""

    fault: Fault
    path: str
    times: int


class Provider:
    """The server: start() listens, stop() closes; seen() gives what it got."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.port = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._requests: list[Request] = []
        self._armed: list[Armed] = []

    @property
    def url(self) -> str:
        return f"{'https' if self.options.tls else 'http'}://{self.options.host}:{self.port}"

    def seen(self) -> tuple[Request, ...]:
        """Every request so far, in the order of arrival."""
        return tuple(self._requests)

    def forget(self) -> None:
        """Drop what was seen; numbering starts at 1 again."""
        self._requests.clear()

    def arm(self, fault: str, path: str = "/", times: int = 1) -> None:
        """Give the next `times` requests whose path starts with `path` this fault."""
        self._armed.append(Armed(parse_fault(fault), path, times))

    async def start(self) -> None:
        """Listen; raises OSError when the port is taken."""
        context = None
        if self.options.tls is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*self.options.tls)
            context.set_alpn_protocols(["http/1.1"])
        self._server = await asyncio.start_server(
            self._accept, self.options.host, self.options.port, ssl=context, limit=HEAD_BYTES_MAX, backlog=512
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the listener and every connection, whatever it is doing."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._converse(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            pass  # the peer left, or the test is over: either is ordinary here
        finally:
            self._open.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tls = self.options.tls is not None
        while (request := await read_request(reader, writer, tls)) is not None:
            goes_on = await write_answer(reader, writer, self._answer(request), request.method == "HEAD")
            if not goes_on or (request.header("connection") or "").lower() == "close":
                return

    def _answer(self, request: Request) -> Answer:
        if request.path in ("/_seen", "/_arm"):
            return self._control(request)
        self._requests.append(request)
        number = len(self._requests)
        plain = answers.answer(request, number, self.options.script, self.options.tables)
        fault = self._fault(request)
        return plain if fault is None else apply_fault(fault, request, number, plain)

    def _fault(self, request: Request) -> Fault | None:
        if request.path.startswith("/fault/"):
            return replace(parse_fault(request.path.removeprefix("/fault/")), options=request.query)
        asked = request.header("x-fault") or request.query.get("fault")
        if asked:
            return parse_fault(asked)
        for armed in self._armed:
            if armed.times > 0 and request.path.startswith(armed.path):
                armed.times -= 1
                return armed.fault
        return None

    def _control(self, request: Request) -> Answer:
        if request.path == "/_arm":
            spec = json.loads(request.body)
            self.arm(spec["fault"], spec.get("path", "/"), int(spec.get("times", 1)))
            return answers.json_answer(0, {"armed": True})
        if request.method == "DELETE":
            self.forget()
        entries: list[Json] = [seen_entry(at, one) for at, one in enumerate(self._requests, start=1)]
        return answers.json_answer(0, entries)


@contextmanager
def serving(options: Options | None = None) -> Iterator[Provider]:
    """Run a provider on a thread of its own for the length of a `with` block."""
    provider = Provider(options or Options())
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="scripted-provider", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(provider.start(), loop).result(10)
        yield provider
    finally:
        asyncio.run_coroutine_threadsafe(provider.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def _options(argv: list[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="tests.support.provider", description="A scripted provider.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls", nargs=2, type=Path, metavar=("CERT", "KEY"))
    parser.add_argument("--script", type=Path, help="JSON: tools to ask for, then the final text")
    parser.add_argument("--tables", type=Path, help="JSON: rows by DATABASE/TABLE, served as Datasette does")
    parser.add_argument("--vary", nargs="?", const="random", help="make texts differ between runs")
    given = parser.parse_args(argv)
    salt = secrets.token_hex(16) if given.vary == "random" else given.vary or ""
    script = parse_script(given.script.read_text(), salt) if given.script else Script(salt=salt)
    tables = json.loads(given.tables.read_text()) if given.tables else {}
    return Options(given.port, tls=tuple(given.tls) if given.tls else None, script=script, tables=tables)


async def _run(options: Options) -> None:
    provider = Provider(options)
    await provider.start()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    place: Json = {"port": provider.port, "host": options.host, "url": provider.url, "pid": os.getpid()}
    assert isinstance(place, dict)
    print(json.dumps({**place, "tls": options.tls is not None}), flush=True)
    await ended.wait()
    await provider.stop()


def main(argv: list[str] | None = None) -> None:
    """Run the provider until it is told to end."""
    asyncio.run(_run(_options(argv)))


if __name__ == "__main__":
    main()
