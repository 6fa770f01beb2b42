"""Writes down small exchanges for the tests of labels: JSON in, wire out."""

import json
from collections.abc import Iterable

from store.labels.wire import Request, Response

Headers = dict[str, str]


def post(url: str, body: object, headers: Headers | None = None) -> Request:
    """A POST of a JSON body (bytes as they are)."""
    return request("POST", url, body, {"content-type": "application/json"} | (headers or {}))


def request(method: str, url: str, body: object = b"", headers: Headers | None = None) -> Request:
    """A request; `url` is `https://host/path?query`."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return Request(
        method.encode(),
        scheme.encode(),
        host.partition(":")[0].encode(),
        443,
        (slash + path).encode(),
        _pairs(headers),
        _bytes(body),
    )


def answer(body: object, status: int = 200, headers: Headers | None = None) -> Response:
    """A response with a JSON body (bytes as they are)."""
    return Response(status, _pairs({"content-type": "application/json"} | (headers or {})), _bytes(body))


def stream(messages: Iterable[object], headers: Headers | None = None) -> Response:
    """A response with a server-sent event for each message, named by its type when it has one; text as it is."""
    body = b"".join(_event(message) for message in messages)
    return Response(200, _pairs({"content-type": "text/event-stream; charset=utf-8"} | (headers or {})), body)


def _event(message: object) -> bytes:
    if isinstance(message, str):
        return f"data: {message}\n\n".encode()
    named = f"event: {message['type']}\n" if isinstance(message, dict) and "type" in message else ""
    return f"{named}data: {json.dumps(message)}\n\n".encode()


def _bytes(body: object) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def _pairs(headers: Headers | None) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
