"""The faults that a request can ask the scripted provider for, each a pure change of the plain answer.

A fault is named `NAME`, `NAME/ARGUMENT` or `NAME/ARGUMENT?option=value`: the table stands in provider.py.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl

import brotli  # type: ignore[import-untyped, unused-ignore]  # ships no types
import zstandard

from tests.support.answers import decoded_body, error_answer, stream_answer
from tests.support.dialogue import encode
from tests.support.wire import Answer, Cut, Ending, Framing, Request

HOW: dict[str, Ending] = {"reset": "reset", "close": "close", "hang": "hang"}
REASONS = {204: b"No Content", 304: b"Not Modified", 401: b"Unauthorized", 429: b"Too Many Requests"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault asked for: its name, the argument after the slash, and its options."""

    name: str
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)

    def number(self, option: str, default: int) -> int:
        return int(self.options.get(option, default))


def parse_fault(text: str) -> Fault:
    """Read `NAME/ARGUMENT?option=value`."""
    place, _, query = text.partition("?")
    name, _, argument = place.strip("/").partition("/")
    return Fault(name, argument, dict(parse_qsl(query, keep_blank_values=True)))


def pattern(length: int) -> bytes:
    """So many bytes that are never twice the same on a line and do not compress to nothing."""
    line = 32
    lines = (b"%031d\n" % (number * 2_654_435_761 % 10**31) for number in range(length // line + 1))
    return b"".join(lines)[:length]


def apply_fault(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    """The answer with the fault in it; an unknown name is answered 404."""
    change = CHANGES.get(fault.name)
    if change is None and fault.name.isdigit():
        return _status(Fault("status", fault.name, fault.options), request, number, plain)
    if change is None:
        known = ", ".join(sorted(CHANGES))
        return error_answer(number, 404, b"Not Found", f"unknown fault {fault.name!r}; known: {known}")
    return change(fault, request, number, plain)


def _cut(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    after = int(fault.argument) if fault.argument else None
    enough = after is None or len(plain.body) > after
    long_enough = plain if enough else _bulk(plain, (after or 0) + 1, plain.framing)
    return replace(long_enough, cut=Cut(HOW[fault.name.partition("-")[0]], after))


def _timeout(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    return replace(plain, cut=Cut("hang"))


def _status(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    status = int(fault.argument or 500)
    reason = REASONS.get(status, b"Scripted")
    wait = fault.options.get("retry_after")
    more = ((b"Retry-After", wait.encode()),) if wait is not None else ()
    if status in (204, 304):
        return Answer(status, reason, more, (), "none")
    return error_answer(number, status, reason, f"status {status} as asked", more)


def _slow_sse(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    count, pause_s = fault.number("n", 5), fault.number("ms", 100) / 1000
    pieces = tuple(b'id: %d\ndata: {"n":%d}\n\n' % (at, at) for at in range(count))
    return stream_answer(number, pieces, pause_s)


def _framing(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    framing: Framing = "close" if fault.name == "no-length" else "chunked"
    return replace(plain, framing=framing)


def _chunks(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    """Cut the body at the sizes asked for; the last size is repeated until the body ends."""
    sizes = [int(size) for size in (fault.argument or "1").split(",")]
    body, pieces = plain.body, list[bytes]()
    while body:
        size = sizes[min(len(pieces), len(sizes) - 1)]
        pieces.append(body[:size])
        body = body[size:]
    pause_s = fault.number("ms", 0) / 1000
    return replace(plain, pieces=tuple(pieces), framing="chunked", pause_s=pause_s)


def encode_body(coding: str, body: bytes) -> bytes:
    """Apply a content coding: gzip, deflate, br or zstd."""
    if coding == "gzip":
        return gzip.compress(body, mtime=0)
    if coding == "deflate":
        return zlib.compress(body)
    if coding == "br":
        return bytes(brotli.compress(body))
    return zstandard.ZstdCompressor().compress(body)


def _coded(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    coding = fault.name
    headers = (*plain.headers, (b"Content-Encoding", coding.encode()))
    return replace(plain, headers=headers, pieces=(encode_body(coding, plain.body),))


def _zstd_request_echo(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    body = encode_body("zstd", decoded_body(request))
    kind = (request.header("content-type") or "application/octet-stream").encode()
    return Answer(200, b"OK", ((b"Content-Type", kind), (b"Content-Encoding", b"zstd")), (body,))


def _bulk(plain: Answer, length: int, framing: Framing) -> Answer:
    body = pattern(length)
    pieces = tuple(body[start : start + 65_536] for start in range(0, length, 65_536))
    headers = (*((n, v) for n, v in plain.headers if n != b"Content-Type"), (b"Content-Type", b"text/plain"))
    return Answer(200, b"OK", headers, pieces, framing)


def _big(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    framing: Framing = "chunked" if "chunked" in fault.options else "length"
    bulk = _bulk(plain, int(fault.argument or 1_048_576), framing)
    return replace(bulk, pause_s=fault.number("ms", 0) / 1000)


def _half_close(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    return replace(plain, framing="close", half_close=True)


def _trailers(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    announced = (*plain.headers, (b"Trailer", b"X-Checksum"))
    return replace(plain, headers=announced, framing="chunked", trailers=((b"X-Checksum", b"scripted"),))


def _early_hints(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    return replace(plain, before=b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")


def _bad_chunk(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    headers = (*plain.headers, (b"Transfer-Encoding", b"chunked"))
    return replace(plain, headers=headers, framing="raw", pieces=(b"5\r\nhello\r\n", b"zz\r\nnot a size\r\n"))


def _odd_headers(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    odd = (
        (b"X-ODD-Case", b"1"),
        (b"Set-Cookie", b"session=one; Path=/"),
        (b"x-odd-case", b"2"),
        (b"Set-Cookie", b"theme=two"),
        (b"X-Latin", b"caf\xe9"),
        (b"X-Long", b"l" * fault.number("long", 2_000)),
        (b"X-Empty", b""),
    )
    return replace(plain, headers=(*odd, *plain.headers))


def _redirect(fault: Fault, request: Request, number: int, plain: Answer) -> Answer:
    place = fault.options.get("to", "/landed").encode()
    return Answer(302, b"Found", ((b"Location", place),), (encode({"to": place.decode()}),))


Change = Callable[[Fault, Request, int, Answer], Answer]
CHANGES: dict[str, Change] = {
    "reset": _cut,
    "reset-after": _cut,
    "close": _cut,
    "close-after": _cut,
    "hang-after": _cut,
    "timeout": _timeout,
    "status": _status,
    "slow-sse": _slow_sse,
    "no-length": _framing,
    "chunked": _framing,
    "chunks": _chunks,
    "gzip": _coded,
    "deflate": _coded,
    "br": _coded,
    "zstd": _coded,
    "zstd-request-echo": _zstd_request_echo,
    "big": _big,
    "half-close": _half_close,
    "trailers": _trailers,
    "early-hints": _early_hints,
    "bad-chunk": _bad_chunk,
    "odd-headers": _odd_headers,
    "redirect": _redirect,
}
