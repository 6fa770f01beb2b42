"""The admin listener: health, readiness and metrics over HTTP, for whoever looks after the recorder.

    GET /healthz    200 while the process works
    GET /readyz     200 while it listens and the store takes what it is given, else 503 and why
    GET /metrics    numbers for Prometheus

Nothing that agents say or hear is told here, and nothing can be changed. One request a connection, small and soon.
"""

import asyncio
import contextlib
from collections.abc import Callable

from proxy.border import Misuse
from proxy.service.metrics import Snapshot, exposition, metrics
from store.reasons import reason

REQUEST_BYTES_MAX = 8 * 1024
REQUEST_S_MAX = 5.0
_TEXT, _METRICS = "text/plain; charset=utf-8", "text/plain; version=0.0.4; charset=utf-8"
_TITLES = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}

type Answer = tuple[int, str, str]
"""Status, media type and body."""


class Admin:
    """`now` says how the recorder stands; None before it listens."""

    def __init__(self, now: Callable[[], Snapshot | None]) -> None:
        self._now = now
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listens; returns where. Raises Misuse."""
        try:
            self._server = await asyncio.start_server(self._serve, host, port, limit=REQUEST_BYTES_MAX)
        except OSError as error:
            raise Misuse(
                f"the admin listener cannot have {host} port {port}: {reason(error)}",
                hint="choose another with --admin, or 0 for any free one",
            ) from error
        where: tuple[str, int] = self._server.sockets[0].getsockname()[:2]
        return where

    async def stop(self) -> None:
        """Ends."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_S_MAX):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_spelled(answer(head.split(b"\r\n")[0], self._now()), bodiless=head.startswith(b"HEAD ")))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # nobody who looks after us asks like that
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def answer(line: bytes, now: Snapshot | None) -> Answer:
    """What a request line gets."""
    words = line.split(b" ")
    if len(words) != 3:
        return 400, _TEXT, "bad request\n"
    method, path = words[0], words[1].partition(b"?")[0]
    if path not in (b"/healthz", b"/readyz", b"/metrics"):
        return 404, _TEXT, "there are /healthz, /readyz and /metrics\n"
    if method not in (b"GET", b"HEAD"):
        return 405, _TEXT, "only GET\n"
    if path == b"/metrics":
        return 200, _METRICS, exposition(metrics(now or Snapshot()))
    why = "" if path == b"/healthz" else _unready(now)
    return (503, _TEXT, why + "\n") if why else (200, _TEXT, "ok\n")


def _unready(now: Snapshot | None) -> str:
    if now is None:
        return "starting"
    if now.draining:
        return "ending"
    return "the store takes nothing" if now.failing else ""


def _spelled(told: Answer, *, bodiless: bool) -> bytes:
    status, media_type, text = told
    body = text.encode()
    fields = f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\nCache-Control: no-store\r\n"
    head = f"HTTP/1.1 {status} {_TITLES[status]}\r\n{fields}Connection: close\r\n\r\n".encode()
    return head if bodiless else head + body
