"""Chooses the scripted provider's plain answer to a request: a model's words, or an echo."""

from __future__ import annotations

import base64
import gzip
import json
from email.utils import formatdate
from urllib.parse import unquote

import zstandard

from tests.support import anthropic_shape, gemini_shape, openai_shape, responses_shape
from tests.support.dialogue import EPOCH_S, Json, Script, Turn, encode, plan
from tests.support.tables import Tables, rows_for
from tests.support.wire import Answer, Headers, Request

MODELS = ("scripted-1", "scripted-2")
MODEL_PATHS = {
    "completions": "/chat/completions",
    "messages": "/messages",
    "responses": "/responses",
    "contents": "enerateContent",
}
CONVERSATIONS = {"responses": "input", "contents": "contents"}


def answer(request: Request, number: int, script: Script, tables: Tables) -> Answer:
    """The answer to a request when no fault is asked for; `number` counts the requests from 1."""
    path = request.path
    shape = next((name for name, end in MODEL_PATHS.items() if path.endswith(end)), None)
    if request.method == "POST" and shape is not None:
        return _model(request, number, script, shape)
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


def _model(request: Request, number: int, script: Script, shape: str) -> Answer:
    try:
        body = json.loads(decoded_body(request))
    except ValueError:
        return error_answer(number, 400, b"Bad Request", "the body is not JSON")
    member = CONVERSATIONS.get(shape, "messages")
    if not isinstance(body, dict) or not isinstance(body.get(member), list):
        return error_answer(number, 400, b"Bad Request", f"{member} is missing")
    turn = plan(body, number, script)
    if body.get("stream") or request.path.endswith(":streamGenerateContent"):
        return stream_answer(number, _events(shape, turn, body), float(request.query.get("ms", "0")) / 1000)
    wholes = {
        "messages": anthropic_shape.message,
        "responses": responses_shape.response,
        "contents": gemini_shape.content,
    }
    headers = (*_common(number), (b"Content-Type", b"application/json"))
    return Answer(200, b"OK", headers, (wholes.get(shape, openai_shape.completion)(turn),))


def _events(shape: str, turn: Turn, body: dict[str, Json]) -> tuple[bytes, ...]:
    if shape == "messages":
        return anthropic_shape.events(turn)
    if shape == "responses":
        return responses_shape.events(turn)
    if shape == "contents":
        return gemini_shape.events(turn)
    options = body.get("stream_options")
    return openai_shape.events(turn, isinstance(options, dict) and bool(options.get("include_usage")))
