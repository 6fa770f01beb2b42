"""A live request as it crossed the wire: read whole, with whom it is for."""

from collections.abc import Callable, Container
from dataclasses import replace
from http import HTTPStatus

from msgspec import structs

from replay_server import target
from replay_server.admission import CHALLENGE
from replay_server.answer import Answer, Live, Piece
from replay_server.caller import Heard
from replay_server.expectation import CONTINUE
from store.core.baggage import RUN_HEADER, run_named
from store.core.base import addressed
from store.core.control.calls import HOST, is_ours
from store.core.credentials import TOKEN_HEADER, credentials
from store.core.form import Asked, Endpoint, Pairs

type StoodFor = Callable[[target.Authority], target.Authority | None]
"""The server that an address of ours stands for, None for any other address."""

_CHALLENGES = b"Proxy-Authenticate: " + CHALLENGE + b"\r\n"


type Word = Callable[[Asked], bytes | None]
"""What a client hears that waits before its body, None where that is the answer itself."""


async def read(asked: Heard, stood_for: StoodFor, own: Container[str], word: Word) -> tuple[Asked, Live, bool]:
    """The request as it crossed the wire, what decides the framing of its answer, and whether it said whom it is for.

    One whose proxy URL named a run, and none of `own`, says so by our header. Raises Malformed.
    """
    caller = asked.caller
    parsed = target.parse(asked.target)
    authority = caller.placed or parsed.authority
    base = None if authority is None or caller.stands else stood_for(authority)
    authority = base or authority
    if caller.stands or base is not None:
        parsed = replace(parsed, path=addressed(parsed.path).path)
        if is_ours(_host(asked, b"").decode("utf-8", "surrogateescape")):
            authority = target.named(HOST.encode(), "http")
    placed = authority is not None
    if authority is None:
        authority = target.named(_host(asked, b"localhost"), "https" if caller.tls else "http")
    endpoint = Endpoint(asked.method, authority.scheme, authority.host, authority.port, parsed.path)
    headers = (*asked.headers, *_named_by_proxy(asked, own))
    if asked.line.waits:
        head = Asked(endpoint, parsed.query, headers)
        said = CONTINUE if is_ours(endpoint.host) else word(head)
        if said is None:  # the body may still come: nothing else may follow
            return head, structs.replace(framed(asked), close=True), placed
        await asked.line.put(said)
    return Asked(endpoint, parsed.query, headers, await asked.line.body()), framed(asked), placed


def _named_by_proxy(asked: Heard, own: Container[str]) -> Pairs:
    """The run that the user name of the proxy URL names, behind what the request says for itself."""
    user = credentials(asked.headers)[0] or asked.caller.user
    if not user or user in own or run_named(asked.headers):
        return ()
    return ((RUN_HEADER, user.encode("utf-8", "surrogateescape")),)


def framed(asked: Heard) -> Live:
    """What of a request decides the framing of its answer."""
    opens_socket = (asked.field(b"upgrade") or b"").lower() == b"websocket"
    return Live(asked.method, asked.http10, asked.close, opens_socket)


def said_for_itself(asked: Heard) -> Pairs:
    """The headers of a request, with the token that its path may hold where a port stands for a server."""
    if not asked.caller.stands:
        return asked.headers
    token = addressed(asked.target).token
    return (*asked.headers, (TOKEN_HEADER, token.encode("utf-8", "surrogateescape")))


def stranger(asked: Heard) -> Answer:
    """What a client gets that may not ask (RFC 9110, section 15.5.8)."""
    return refusal(asked, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED, "this replay asks for its token", _CHALLENGES)


def refusal(asked: Heard, status: HTTPStatus, text: str, fields: bytes = b"") -> Answer:
    """What is the server's own word to a client, and no part of a replay; the connection ends after it."""
    body = text.encode("utf-8", "surrogateescape")
    lines = b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
    head = b"HTTP/1.1 %d %s\r\n%s%s" % (status, status.phrase.encode(), fields, lines)
    return Answer(head, () if asked.method == "HEAD" else (Piece(body),))


def _host(asked: Heard, missing: bytes) -> bytes:
    found = asked.field(b"host")
    return missing if found is None else found


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
