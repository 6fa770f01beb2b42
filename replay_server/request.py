"""A live request as aiohttp hands it over: read whole, with whom it is for."""

from collections.abc import Callable, Container
from dataclasses import replace

from aiohttp import web

from replay_server import target
from replay_server.admission import CHALLENGE
from replay_server.answer import Live
from replay_server.door import Door, method
from store.core.baggage import RUN_HEADER, run_named
from store.core.base import addressed
from store.core.control.calls import HOST, is_ours
from store.core.credentials import TOKEN_HEADER, credentials
from store.core.form import Asked, Endpoint, Pairs

type StoodFor = Callable[[target.Authority], target.Authority | None]
"""The server that an address of ours stands for, None for any other address."""


async def read(request: web.BaseRequest, stood_for: StoodFor, own: Container[str]) -> tuple[Asked, Live, bool]:
    """The request as it crossed the wire, and whether it said whom it is for; one whose proxy URL named a run, and none
    of `own`, says so by our header. Raises Malformed.
    """
    door = door_of(request)
    parsed = target.parse(request.raw_path.encode("utf-8", "surrogateescape"))
    authority = door.placed or parsed.authority
    base = None if authority is None or door.stands else stood_for(authority)
    authority = base or authority
    if door.stands or base is not None:
        parsed = replace(parsed, path=addressed(parsed.path).path)
        if is_ours(request.headers.get("Host", "")):
            authority = target.named(HOST.encode(), "http")
    placed = authority is not None
    if authority is None:
        scheme = "https" if door.tls else "http"
        authority = target.named(request.headers.get("Host", "localhost").encode("utf-8", "surrogateescape"), scheme)
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await request.content.read()
    asked = method(request.method)
    endpoint = Endpoint(asked, authority.scheme, authority.host, authority.port, parsed.path)
    http10 = request.version < (1, 1)
    return (
        Asked(endpoint, parsed.query, (*request.raw_headers, *_named_by_proxy(request, own)), body),
        Live(asked, http10, not request.keep_alive, _opens_socket(request)),
        placed,
    )


def _named_by_proxy(request: web.BaseRequest, own: Container[str]) -> Pairs:
    """The run that the user name of the proxy URL names, behind what the request says for itself."""
    user = credentials(request.raw_headers)[0] or door_of(request).user
    if not user or user in own or run_named(request.raw_headers):
        return ()
    return ((RUN_HEADER, user.encode("utf-8", "surrogateescape")),)


def said_for_itself(request: web.BaseRequest) -> Pairs:
    """The headers of a request, with the token that its path may hold where a port stands for a server."""
    if not door_of(request).stands:
        return request.raw_headers
    token = addressed(request.raw_path.encode("utf-8", "surrogateescape")).token
    return (*request.raw_headers, (TOKEN_HEADER, token.encode("utf-8", "surrogateescape")))


def stranger() -> web.Response:
    """What a client gets that may not ask (RFC 9110, section 15.5.8)."""
    headers = {"Proxy-Authenticate": CHALLENGE.decode()}
    response = web.Response(status=407, headers=headers, text="this replay asks for its token")
    response.force_close()
    return response


def _opens_socket(request: web.BaseRequest) -> bool:
    return request.headers.get("Upgrade", "").strip().lower() == "websocket"


def door_of(request: web.BaseRequest) -> Door:
    """The connection that a request came on."""
    door = request.protocol
    assert isinstance(door, Door)
    return door


def origin_form(raw: Asked) -> bytes:
    """A request as an origin server gets it, with the end of the connection after it unless it upgrades."""
    upgrades = any(name.lower() == b"upgrade" for name, _ in raw.headers)
    dropped = (b"proxy-connection", b"proxy-authorization", b"transfer-encoding", b"content-length", RUN_HEADER)
    kept = [(name, value) for name, value in raw.headers if name.lower() not in dropped]
    if not upgrades:
        kept = [(name, value) for name, value in kept if name.lower() != b"connection"] + [(b"Connection", b"close")]
    if raw.body:
        kept.append((b"Content-Length", b"%d" % len(raw.body)))
    path = raw.endpoint.path + (b"?" + raw.query if raw.query else b"")
    lines = [
        b"%s %s HTTP/1.1" % (raw.endpoint.method.encode("latin-1"), path),
        *(name + b": " + value for name, value in kept),
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + raw.body
