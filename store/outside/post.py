"""One HTTP POST to somebody outside: bounded in time and size, never redirected, and a sentence for whatever fails."""

import base64
import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast
from urllib.parse import SplitResult, unquote, urlsplit

from store.core.errors import EdgetapeError

DEADLINE_S = 20.0
_PORTS = {"http": 80, "https": 443}

# (scheme, host, port) of a request to the URL of the proxy that it goes through; None for none.
type Route = Callable[[str, str, int], str | None]


class Unreachable(EdgetapeError):
    """Nobody answered, or not as HTTP, or not in time, or with too much."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; `kind` is its Content-Type without parameters."""

    status: int
    kind: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Way:
    """How requests go out: which proxy, and how many seconds one may take from its beginning to its end."""

    route: Route = lambda _scheme, _host, _port: None
    deadline_s: float = DEADLINE_S


def host_of(url: str) -> str:
    """Host and port of a URL, without user and password: what may be said and kept of it. Raises Unreachable."""
    parts, _ = _parts(url)
    return parts.netloc.rpartition("@")[2]


def post(url: str, body: bytes, kind: str, limit: int, way: Way) -> Answer:
    """Posts `body` as Content-Type `kind`; an answer of more than `limit` bytes is none. Raises Unreachable."""
    parts, port = _parts(url)
    where = f"{parts.scheme}://{host_of(url)}"
    try:
        connection, target, headers = _connection(parts, port, way)
    except ValueError as error:
        raise Unreachable(f"the way to {where} makes no sense: {error}") from None
    cut = threading.Event()
    timer = threading.Timer(way.deadline_s, _cut, (connection, cut))
    timer.daemon = True
    timer.start()
    try:
        with contextlib.closing(connection):
            connection.request("POST", target, body, {**headers, "Content-Type": kind, "Connection": "close"})
            with contextlib.closing(connection.getresponse()) as response:
                content = response.read(limit + 1)
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
        # AttributeError: what http.client stumbles over when its socket is cut off under it.
        raise Unreachable(_why(where, error, way, late=cut.is_set())) from None
    finally:
        timer.cancel()
    if cut.is_set():
        raise Unreachable(f"{where} did not answer within {way.deadline_s:g} s")
    if len(content) > limit:
        raise Unreachable(f"{where} answered with more than {limit} bytes")
    if 300 <= response.status < 400:
        raise Unreachable(f"{where} sends elsewhere ({response.status}), which is not followed", hint=_MOVED)
    return Answer(response.status, response.headers.get_content_type(), content)


_MOVED = "ask its operator for the address that answers itself, and name that one"


def _parts(url: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
        if not parts.hostname:
            raise ValueError("no host")
    except (ValueError, KeyError):
        raise Unreachable("not an address that can be asked: http:// or https:// and a host") from None
    return parts, port


def _connection(parts: SplitResult, port: int, way: Way) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """The connection, what is asked for on it, and the headers that user names and passwords give."""
    host = cast("str", parts.hostname)
    headers = _credentials("Authorization", parts)
    target = parts.path or "/"
    target += f"?{parts.query}" if parts.query else ""
    proxy = way.route(parts.scheme, host, port)
    if proxy is None:
        return _to(parts.scheme, host, port, way), target, headers
    through = urlsplit(proxy)
    if not through.hostname or through.scheme not in _PORTS:
        raise ValueError("the proxy's address is none of http:// or https://")
    through_port = through.port or _PORTS[through.scheme]
    if parts.scheme == "https":
        connection = _to("https", through.hostname, through_port, way)
        connection.set_tunnel(host, port, _credentials("Proxy-Authorization", through))
        return connection, target, headers
    headers |= _credentials("Proxy-Authorization", through)
    return _to("http", through.hostname, through_port, way), f"http://{host_of(parts.geturl())}{target}", headers


def _to(scheme: str, host: str, port: int, way: Way) -> http.client.HTTPConnection:
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=way.deadline_s)
    return http.client.HTTPSConnection(host, port, timeout=way.deadline_s, context=ssl.create_default_context())


def _credentials(header: str, parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {header: f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _cut(connection: http.client.HTTPConnection, cut: threading.Event) -> None:
    """Ends a request that takes too long; a timeout of the socket begins anew with every byte that comes."""
    cut.set()
    if connection.sock is not None:
        with contextlib.suppress(OSError, ValueError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _why(where: str, error: Exception, way: Way, *, late: bool) -> str:
    if late or isinstance(error, TimeoutError):
        return f"{where} did not answer within {way.deadline_s:g} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {where} is not trusted: {error.verify_message}"
    if isinstance(error, http.client.InvalidURL | UnicodeError):
        return f"the address at {where} has characters that no address has"
    if isinstance(error, http.client.HTTPException | ValueError | AttributeError):
        return f"{where} does not speak HTTP"
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    return f"{where} cannot be reached: {reason}"
