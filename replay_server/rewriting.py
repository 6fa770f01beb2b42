"""Rewrites a recorded answer: its body with its frames and its table of pieces, its headers and trailers."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from replay_server.answer import Recorded
from store.core import frames
from store.core.form import Pairs, first
from store.core.redact import Redacted
from store.core.redaction.marks import Edit
from store.core.redaction.pieces import recut

type Write = Callable[[re.Match[bytes]], bytes | None]
type Change = tuple[int, int, bytes]
"""Where something stands (start, end), and what is to stand there."""


def media_type(headers: Pairs) -> bytes:
    """The media type in lower case, without its parameters."""
    return first(headers, b"content-type").partition(b";")[0].strip().lower()


def changes(raw: bytes, pattern: re.Pattern[bytes], write: Write) -> list[Change]:
    """Each match of `pattern` for which `write` has something else."""
    found = ((match.start(), match.end(), write(match)) for match in pattern.finditer(raw))
    return [(start, end, new) for start, end, new in found if new is not None]


def rewritten(recorded: Recorded, found: Sequence[Change]) -> Recorded:
    """The answer with these changes of its body, ascending and apart, and its pieces cut accordingly."""
    pieces: list[bytes] = []
    edits: list[Edit] = []
    at = 0
    for start, end, new in found:
        pieces += (recorded.body[at:start], new)
        edits.append((start, end, len(new)))
        at = end
    body = b"".join([*pieces, recorded.body[at:]])
    if media_type(recorded.headers) == frames.MEDIA_TYPE.encode():
        body = frames.reframed(recorded.body, body, tuple(edits)) or body
    told = Redacted(body, len(recorded.body), (("", len(edits)),) if edits else (), edits=tuple(edits))
    return replace(recorded, body=body, chunks=recut(recorded.chunks, recorded.body, "", told))


def headed(recorded: Recorded, pattern: re.Pattern[bytes], write: Write) -> Recorded:
    """The answer with what `write` says in the values of its headers and trailers."""

    def value(raw: bytes) -> bytes:
        return pattern.sub(lambda match: new if (new := write(match)) is not None else match[0], raw)

    headers = [(name, value(raw)) for name, raw in recorded.headers]
    return replace(recorded, headers=headers, trailers=[(name, value(raw)) for name, raw in recorded.trailers])
