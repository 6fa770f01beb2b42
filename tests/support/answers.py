"""Chooses the scripted provider's plain answer to a request: a model's words, or an echo."""

from __future__ import annotations

import base64
import gzip
import json
from email.utils import formatdate
from urllib.parse import unquote

import zstandard

from tests.support import anthropic_shape, openai_shape
from tests.support.dialogue import EPOCH_S, Json, Script, encode, plan
from tests.support.tables import Tables, rows_for
from tests.support.wire import Answer, Headers, Request

MODELS = ("scripted-1", "scripted-2")


def answer(request: Request, number: int, script: Script, tables: Tables) -> Answer:
    """The answer to a request when no fault is asked for; `number` counts the requests from 1."""
    path = request.path
    if request.method == "POST" and path.endswith(("/chat/completions", "/messages")):
        return _model(request, number, script, anthropic=path.endswith("/messages"))
    if request.method == "GET" and path.endswith("/models"):
        entries: list[Json] = [{"id": name, "object": "model", "created": EPOCH_S} for name in MODELS]
        return json_answer(number, {"object": "list", "data": entries})
    rows = rows_for(tables, path, request.query)
    return json_answer(number, echo(request) if rows is None else rows)


def json_answer(number: int, value: Json, status: int = 200, reason: bytes = b"OK", more: Headers = ()) -> Answer:
    """A JSON answer with a length."""
    headers = (*_common(number), *more, (b"Content-Type", b"application/json"))
    return Answer(status, reason, headers, (encode(value),))


def stream_answer(number: int, pieces: tuple[bytes, ...], pause_s: float = 0.0) -> Answer:
    """A chunked event stream, one chunk a piece."""
    headers = (
        *_common(number),
        (b"Content-Type", b"text/event-stream; charset=utf-8"),
        (b"Cache-Control", b"no-cache"),
    )
    return Answer(200, b"OK", headers, pieces, "chunked", pause_s)


def error_answer(number: int, status: int, reason: bytes, message: str, more: Headers = ()) -> Answer:
    """An error in the shape that both providers' clients understand."""
    error: Json = {"type": "scripted_error", "message": message}
    return json_answer(number, {"type": "error", "error": error}, status, reason, more)


def echo(request: Request) -> dict[str, Json]:
    """What arrived, as JSON: method, target, headers in order, the body as text or base64."""
    body = request.body
    try:
        said: dict[str, Json] = {"body": body.decode()}
    except UnicodeDecodeError:
        said = {"body_b64": base64.b64encode(body).decode()}
    return {
        "method": request.method,
        "target": request.target,
        "path": unquote(request.path),
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in request.headers],
        **said,
    }


def decoded_body(request: Request) -> bytes:
    """The request's body with its content coding (gzip or zstd) undone."""
    coding = (request.header("content-encoding") or "").lower()
    if coding == "gzip":
        return gzip.decompress(request.body)
    if coding == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(request.body)
    return request.body


def _common(number: int) -> Headers:
    date = formatdate(EPOCH_S + number, usegmt=True).encode()
    return ((b"Date", date), (b"Server", b"scripted"), (b"x-request-id", b"req_%08d" % number))


def _model(request: Request, number: int, script: Script, anthropic: bool) -> Answer:
    try:
        body = json.loads(decoded_body(request))
    except ValueError:
        return error_answer(number, 400, b"Bad Request", "the body is not JSON")
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return error_answer(number, 400, b"Bad Request", "messages is missing")
    turn = plan(body, number, script)
    pause_s = float(request.query.get("ms", "0")) / 1000
    if anthropic:
        whole, pieces = anthropic_shape.message(turn), anthropic_shape.events
        if body.get("stream"):
            return stream_answer(number, pieces(turn), pause_s)
        return Answer(200, b"OK", (*_common(number), (b"Content-Type", b"application/json")), (whole,))
    if body.get("stream"):
        options = body.get("stream_options") or {}
        return stream_answer(number, openai_shape.events(turn, bool(options.get("include_usage"))), pause_s)
    headers = (*_common(number), (b"Content-Type", b"application/json"))
    return Answer(200, b"OK", headers, (openai_shape.completion(turn),))
