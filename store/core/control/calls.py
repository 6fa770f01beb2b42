"""What a request to the control endpoint asks for: a value, a note, a child run or a page; or why it is refused.

Rules kept here:
- A page that the agent only fetched must not be able to call: requests that a browser makes for a page carry an Origin
  or a Referer, and are refused.
- What an agent says of itself is checked for its form and for nothing else: a note is a claim.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args
from urllib.parse import parse_qs

from store.core import jsontext
from store.core.control import describe
from store.core.errors import Malformed
from store.core.rpc import Direction

HOST = "edgetape.internal"
RANDOM_BYTES_MAX = 4096
RANDOM_BYTES = 16
CALL_BYTES_MAX = 1 << 20

ValueKind = Literal["now", "random", "uuid"]
NoteKind = Literal["decision", "state", "policy", "approval", "retrieval", "effect"]

type Fields = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A value: the time, `length` random bytes, or an id."""

    kind: ValueKind
    length: int = 0


@dataclass(frozen=True, slots=True)
class Noted:
    """A note, whose content is the JSON as it was sent."""

    kind: NoteKind
    content: bytes


@dataclass(frozen=True, slots=True)
class Spawned:
    """A child run that is to be opened; without a name it goes by its id. `labels` go before the recorder's own."""

    name: str = ""
    workflow: str = ""
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """An answer that needs nothing to be done: a page, or (`detail`) a refusal as a problem (RFC 9457)."""

    status: int
    body: bytes
    media_type: str = "application/json"
    allow: str = ""

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """The header fields that go with it."""
        head = ((b"Content-Type", self.media_type.encode()), (b"Cache-Control", b"no-store"))
        return (*head, (b"Allow", self.allow.encode())) if self.allow else head


@dataclass(frozen=True, slots=True)
class Passed:
    """A message between the agent and a tool server on its stdin and stdout, before it is passed on."""

    server: str
    direction: Direction
    message: bytes


type Call = Wanted | Noted | Spawned | Passed | Said

_METHODS = {
    "/": "GET",
    "/v1": "GET",
    "/v1/openapi.json": "GET",
    "/v1/now": "GET",
    "/v1/random": "GET",
    "/v1/uuid": "GET",
    "/v1/notes": "POST",
    "/v1/runs": "POST",
    "/v1/rpc": "POST",
}


def is_ours(host: str) -> bool:
    """Whether a host is the control endpoint's."""
    return host.lower().rstrip(".") == HOST


def call(method: str, path: str, query: str, fields: Fields, body: bytes) -> Call:
    """What a request asks for."""
    if any(name.lower() in (b"origin", b"referer") for name, _ in fields):
        return refusal(403, "pages may not call the control endpoint")
    wanted = _METHODS.get(path)
    if wanted is None:
        return refusal(404, f"there is no {path[:80]} here; GET /v1/openapi.json tells what is")
    if method != wanted and not (method == "HEAD" and wanted == "GET" and path in ("/", "/v1", "/v1/openapi.json")):
        return Said(405, _problem(405, f"{path} takes {wanted}"), describe.PROBLEM, allow=wanted)
    try:
        return _call(path, query, body)
    except Malformed as error:
        return refusal(400, str(error))


def refusal(status: int, detail: str) -> Said:
    """A problem as an answer."""
    return Said(status, _problem(status, detail), describe.PROBLEM)


def now(timestamp: str, unix_us: int) -> bytes:
    """The answer to GET /v1/now: the time as an event spells it, and in microseconds since 1970."""
    return _json({"now": timestamp, "unix_us": unix_us})


def random(raw: bytes) -> bytes:
    """The answer to GET /v1/random."""
    return _json({"hex": raw.hex()})


def uuid(text: str) -> bytes:
    """The answer to GET /v1/uuid (RFC 9562)."""
    return _json({"uuid": text})


def noted(kind: str) -> bytes:
    """The answer to a note that was recorded."""
    return _json({"noted": kind})


def spawned(run: str, name: str) -> bytes:
    """The answer to a child run that was opened, and how its requests say that they are its own."""
    return _json({"run": run, "name": name, "header": f"X-Edgetape-Run: {run}"})


def forwarded(before: Sequence[bytes] = ()) -> bytes:
    """The answer to a message that is recorded: pass it on; tell the server these before, whose answers nobody gets."""
    told = [raw.decode("utf-8", "surrogateescape") for raw in before]
    return _json({"forward": True, "before": told} if told else {"forward": True})


def recalled(messages: Sequence[bytes]) -> bytes:
    """The answer of a replay: what the tool server said then. Bytes that are no UTF-8 come as surrogates."""
    return _json({"forward": False, "messages": [raw.decode("utf-8", "surrogateescape") for raw in messages]})


def _call(path: str, query: str, body: bytes) -> Call:
    match path:
        case "/v1/now":
            return Wanted("now")
        case "/v1/uuid":
            return Wanted("uuid")
        case "/v1/random":
            return Wanted("random", _length(query))
        case "/v1/notes":
            return _note(body)
        case "/v1/runs":
            return _spawn(body)
        case "/v1/rpc":
            return _passed(body)
        case "/v1/openapi.json":
            return Said(200, _json(describe.openapi()))
    return Said(200, describe.WELCOME.encode(), "text/plain; charset=utf-8")


def _length(query: str) -> int:
    said = parse_qs(query, keep_blank_values=True).get("bytes", [str(RANDOM_BYTES)])[-1]
    if not said.isascii() or not said.isdecimal() or not 1 <= int(said[:6]) <= RANDOM_BYTES_MAX:
        raise Malformed(f"bytes is a number from 1 to {RANDOM_BYTES_MAX}")
    return int(said)


def _note(body: bytes) -> Noted:
    said = _object(body)
    kind = said.get("kind")
    if kind not in get_args(NoteKind):
        raise Malformed(f"a note has a kind, one of {', '.join(get_args(NoteKind))}")
    known = cast("NoteKind", kind)
    for name, form in describe.NEEDED[known].items():
        if not isinstance(said.get(name), form):
            raise Malformed(f"a note of kind {known} has a member {name} ({describe.JSON_NAMES[form]})")
    return Noted(known, body)


def _spawn(body: bytes) -> Spawned:
    said = _object(body) if body.strip() else {}
    labels = said.get("labels", {})
    if not isinstance(labels, dict) or len(labels) > describe.LABELS_MAX:
        raise Malformed(f"labels is an object of at most {describe.LABELS_MAX} texts")
    pairs = tuple((_short("a label's name", key), _short("a label", value)) for key, value in labels.items())
    return Spawned(_short("name", said.get("name", "")), _short("workflow", said.get("workflow", "")), pairs)


def _short(what: str, said: object) -> str:
    if not isinstance(said, str) or len(said.encode("utf-8", "surrogateescape")) > describe.NAME_BYTES_MAX:
        raise Malformed(f"{what} is a text of at most {describe.NAME_BYTES_MAX} bytes")
    return said


def _passed(body: bytes) -> Passed:
    said = _object(body)
    server, direction, message = (said.get(name) for name in ("server", "direction", "message"))
    if not isinstance(server, str) or not isinstance(message, str) or direction not in ("to_server", "to_client"):
        raise Malformed("a message has a server, a direction (to_server, to_client) and a message")
    return Passed(server, direction, message.encode("utf-8", "surrogateescape"))


def _object(body: bytes) -> Mapping[str, object]:
    try:
        said = jsontext.parse(body)
    except Malformed:
        said = None
    if not isinstance(said, dict):
        raise Malformed("the body is a JSON object that names no member twice")
    return said


def _problem(status: int, detail: str) -> bytes:
    return _json({"type": "about:blank", "title": describe.TITLES[status], "status": status, "detail": detail})


def _json(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
