"""Interim answers (1xx; RFC 9110, section 15.2), which mitmproxy 12 takes for final ones or drops: kept and passed on.

Rules kept here:
- An agent of HTTP/1.0 knows none. A 100 is for an agent that waits for one: any other has sent its body already.
- Each side's own version: what a server said over one goes to the agent over the other.
"""

import contextlib
from collections.abc import Iterable, Iterator
from http import HTTPStatus

from h2.exceptions import ProtocolError
from mitmproxy.connection import Connection
from mitmproxy.http import Request
from mitmproxy.proxy import commands
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers.http._http2 import Http2Connection

SIDES = "edgetape_sides"  # among the members of an HttpLayer: its sides that speak HTTP/2, by their connections
_KEPT = "edgetape_interim"  # among the members of a Request
_CONTINUE = 100


def expects(request: Request) -> bool:
    """Whether whoever sends a request waits for a word before its body (RFC 9110, section 10.1.1)."""
    return (request.is_http11 or request.is_http2) and request.headers.get("expect", "").lower() == "100-continue"


def interim(request: Request) -> list[bytes]:
    """The heads of the interim answers to a request, as HTTP/1 spells them."""
    kept: list[bytes] = vars(request).get(_KEPT, [])
    return kept


def spelled(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A head that came over HTTP/2, as HTTP/1 spells it."""
    pairs = list(fields)
    status = int(next((value for name, value in pairs if name == b":status"), b"100"))
    reason = HTTPStatus(status).phrase if status in HTTPStatus else ""
    lines = [b"HTTP/1.1 %d %s" % (status, reason.encode())]
    lines += [name + b": " + value for name, value in pairs if not name.startswith(b":")]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def pass_on(context: Context, request: Request, stream: int, head: bytes) -> Iterator[commands.Command]:
    """Keeps an interim answer, and gives it to the agent; `stream` is that of its request."""
    vars(request).setdefault(_KEPT, []).append(head)
    line, *rest = head.splitlines()
    status = line.split()[1]
    if int(status) == _CONTINUE and not expects(request):
        return
    if request.is_http11:
        yield commands.SendData(context.client, head)
    elif request.is_http2:
        named = (field.partition(b":") for field in rest if field)
        fields = [(b":status", status), *((name.strip().lower(), value.strip()) for name, _, value in named)]
        side = _sides(context).get(context.client)
        if side is not None:
            with contextlib.suppress(ProtocolError):  # the agent has gone on without it
                side.h2_conn.send_headers(stream, fields)
                yield commands.SendData(context.client, side.h2_conn.data_to_send())


def _sides(context: Context) -> dict[Connection, Http2Connection]:
    layer = [one for one in context.layers if isinstance(one, http_layers.HttpLayer)][-1]
    sides: dict[Connection, Http2Connection] = vars(layer).get(SIDES, {})
    return sides
