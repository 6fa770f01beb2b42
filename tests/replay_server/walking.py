"""Asks a replay's session directly, without a socket: for long walks and many of them."""

from urllib.parse import urlsplit

from replay_server.answer import Live, Reply
from replay_server.session import Session
from store.core.form import Asked, Endpoint
from tests.replay_server.recording import Pairs

JSON = ((b"Content-Type", b"application/json"), (b"Accept", b"application/json"))


def raw(method: str, url: str, body: bytes = b"", headers: Pairs | None = None) -> Asked:
    """A request as it crosses the wire; JSON where it has a body and no headers are given."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    place = Endpoint(method, parts.scheme, parts.hostname or "", port, (parts.path or "/").encode())
    headers = (JSON if body else ()) if headers is None else headers
    return Asked(place, parts.query.encode(), headers, body)


def ask(
    session: Session, method: str, url: str, body: bytes = b"", headers: Pairs | None = None
) -> tuple[int, bytes, bytes]:
    """Status, head and body of what a request is answered with."""
    reply = session.ask(raw(method, url, body, headers), Live(method), placed=True)
    assert isinstance(reply, Reply)
    reply.sent("complete")
    head = reply.answer.head
    status = int(head.split(b" ")[1]) if head else 0
    return status, head, b"".join(piece.raw for piece in reply.answer.pieces)
