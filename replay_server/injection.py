"""The answer that a fork gives at its step instead of the recorded one.

Rules kept here:
- What is said applies to the recorded answer in this order: the body, members of it, the status, the cut.
- A streamed answer of a model is edited as the message that its events come to, and streamed again in the same form.
- An edited body has no content coding any more; its framing stays.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from replay_server.answer import Recorded
from replay_server.modes import NotAllowed
from replay_server.rewriting import media_type
from replay_server.streams import Form, form_of
from store.core import coding
from store.core.chunks import Chunk
from store.core.errors import Malformed
from store.labels import tree
from store.labels.describe import plural
from store.labels.tree import Json
from store.labels.wire import CONTENT_BYTES_MAX, Response

_DESCRIBING = (b"content-encoding", b"content-md5", b"content-digest", b"repr-digest", b"digest", b"etag")
_EVENTS = b"text/event-stream"
_STREAMS = (_EVENTS, b"application/vnd.amazon.eventstream", b"application/x-ndjson")


@dataclass(frozen=True, slots=True)
class Edit:
    """A value that goes to the place a JSON Pointer (RFC 6901) names; `-` is the place behind a list's last item."""

    pointer: str
    value: Json

    @classmethod
    def parse(cls, text: str) -> "Edit":
        """`POINTER=VALUE`; a value that is no JSON is a string. Raises NotAllowed."""
        pointer, equals, spelled = text.partition("=")
        if not equals or (pointer and not pointer.startswith("/")):
            raise NotAllowed(f"this is no place and value: {text!r}", hint="write --set /rows/0/severity=high")
        try:
            return cls(pointer, json.loads(spelled))
        except ValueError:
            return cls(pointer, spelled)

    def apply(self, node: Json) -> Json:
        """`node` with the value in its place. Raises NotAllowed where there is no such place."""
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in self.pointer.split("/")[1:]]
        return self._put(node, tokens)

    def _put(self, node: Json, tokens: Sequence[str]) -> Json:
        if not tokens:
            return self.value
        token, *rest = tokens
        match node:
            case dict() if token in node or not rest:
                return {**node, token: self._put(node.get(token), rest)}
            case list() if token == "-" and not rest:
                return [*node, self.value]
            case list() if token.isdecimal() and int(token) < len(node):
                at = int(token)
                return [*node[:at], self._put(node[at], rest), *node[at + 1 :]]
        raise NotAllowed(
            f"the recorded answer has no place {self.pointer}", hint="`edgetape show RUN STEP` shows what it has"
        )


@dataclass(frozen=True, slots=True)
class Injection:
    """What is said of the answer at the fork's step (`--respond`, `--status`, `--set`, `--cut-after`)."""

    body: bytes | None = None
    status: int | None = None
    edits: tuple[Edit, ...] = ()
    cut_after_bytes: int | None = None

    @property
    def is_any(self) -> bool:
        """Whether anything is said."""
        return self != Injection()

    @property
    def refuses(self) -> bool:
        """Whether a status is said: then a WebSocket is not opened."""
        return self.status is not None

    def apply(self, recorded: Recorded) -> Recorded:
        """The answer. Raises NotAllowed where what was said does not fit the recorded answer."""
        answer = recorded
        if self.body is not None:
            answer = _respoken(recorded, self.body)
        if self.edits:
            answer = _edited(answer, self.edits)
        if self.status is not None:
            answer = replace(answer, status=self.status, reason=b"")
        if self.cut_after_bytes is not None:
            answer = replace(answer, body=answer.body[: self.cut_after_bytes], ended="reset", trailers=())
            answer = replace(answer, chunks=_shortened(answer.chunks, len(answer.body)))
        return answer

    def check_message(self) -> None:
        """Raises NotAllowed where what was said fits no message of a WebSocket."""
        if self.status is not None or self.cut_after_bytes is not None:
            raise NotAllowed(
                "a message of a WebSocket has no status, and is not cut", hint="set a member, or another body"
            )

    def words(self) -> str:
        """What was said, for people."""
        said = ["another body"] if self.body is not None else []
        said += [f"{edit.pointer or 'the whole body'} set" for edit in self.edits]
        said += [f"status {self.status}"] if self.status is not None else []
        said += [f"cut after {plural(self.cut_after_bytes, 'byte')}"] if self.cut_after_bytes is not None else []
        return ", ".join(said)


def message_of(answer: Recorded) -> Json:
    """What a streamed answer of a model comes to; None for any other answer, or one that cannot be read."""
    try:
        form = _form(answer)
        return None if form is None else form.assembled(_plain(answer).messages)
    except NotAllowed:
        return None


def _respoken(recorded: Recorded, body: bytes) -> Recorded:
    form = _form(recorded)
    message = tree.parse(body) if form is not None else None
    if form is not None and isinstance(message, dict):
        return _with_pieces(recorded, form.streamed(message))
    return _with_pieces(recorded, [body])


def _edited(recorded: Recorded, edits: Iterable[Edit]) -> Recorded:
    form, read = _form(recorded), _plain(recorded)
    if form is None and media_type(recorded.headers) in _STREAMS:
        raise NotAllowed(
            "the recorded answer is a stream of a form that is not put together, so no member of it can be set",
            hint="--respond FILE gives the stream anew, byte for byte; docs/fork.md names the forms that can be edited",
        )
    node: Json = form.assembled(read.messages) if form is not None else _parsed(read.content)
    for edit in edits:
        node = edit.apply(node)
    if form is not None and isinstance(node, dict):
        return _with_pieces(recorded, form.streamed(node))
    return _with_pieces(recorded, [json.dumps(node, ensure_ascii=False).encode("utf-8", "surrogatepass")])


def _parsed(content: bytes) -> Json:
    try:
        node: Json = json.loads(content)
    except ValueError:
        raise NotAllowed(
            "the recorded answer is no JSON, so no member of it can be set", hint="take --respond"
        ) from None
    return node


def _decoded(recorded: Recorded) -> bytes:
    try:
        return coding.decode(recorded.body, coding.content_encoding(recorded.headers), CONTENT_BYTES_MAX)
    except Malformed as error:
        raise NotAllowed(f"the recorded answer cannot be read: {error}", hint="take --respond") from error


def _form(recorded: Recorded) -> Form | None:
    """The form that a model's answer was streamed in."""
    return form_of(_plain(recorded).messages) if media_type(recorded.headers) == _EVENTS else None


def _plain(recorded: Recorded) -> Response:
    """The answer with its content coding undone, and nothing said of one."""
    headers = [(name, value) for name, value in recorded.headers if name.lower() != b"content-encoding"]
    return Response(recorded.status, headers, _decoded(recorded))


def _with_pieces(recorded: Recorded, pieces: Sequence[bytes]) -> Recorded:
    length = b"%d" % sum(map(len, pieces))
    headers = [
        (name, length if name.lower() == b"content-length" else value)
        for name, value in recorded.headers
        if name.lower() not in _DESCRIBING
    ]
    chunks = [Chunk(len(piece), 0) for piece in pieces]
    return replace(recorded, headers=headers, body=b"".join(pieces), chunks=chunks)


def _shortened(chunks: Sequence[Chunk], length: int) -> list[Chunk]:
    left, kept = length, []
    for chunk in chunks:
        if left > 0:
            kept.append(msgspec.structs.replace(chunk, length=min(chunk.length, left)))
        left -= chunk.length
    return kept
