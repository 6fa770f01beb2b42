"""What an event says of a body: itself, its pieces, and how it differs from what crossed the wire."""

from collections.abc import Callable, Generator
from typing import Any

from store.core.chunks import encode
from store.core.draft import Sheet, altered
from store.core.redact import Content, Long, Redacted, Redactor, stored
from store.core.redaction.long import Keep
from store.core.redaction.pieces import recut
from store.drafting.seen import Body

LONG_BYTES = 16 << 20  # what is no longer than this is read into memory

type Steps[R] = Generator[None, None, R]


def redacted_body(redactor: Redactor, body: Body, about: Content, keep: Callable[[], Keep]) -> Steps[Redacted | Long]:
    """A body without its secrets; what has to be changed of one that is not in memory goes into what `keep` makes."""
    if body.taken is not None and body.length > LONG_BYTES:
        return (yield from redactor.long_steps(body.taken.pieces, body.length, about, keep))
    content = body.content if body.taken is None else body.taken.content
    return (yield from redactor.body_steps(content, about))


def body_members(sheet: Sheet, redacted: Redacted | Long, about: Content, body: Body) -> dict[str, Any]:
    """The members that tell of a body, for any event that has one; `about` describes it, `body` is as it came."""
    if not redacted.length:
        return {}
    members = {
        "body": sheet.apart(redacted, about.media_type, "" if redacted.decoded else about.coding),
        **altered(redacted),
    }
    if body.cut_bytes:
        members |= {"truncated": True, "wire_bytes": body.cut_bytes}
    if body.chunks is not None:
        table = recut(body.chunks, body.content if body.taken is None else body.taken.pieces(), about.coding, redacted)
        members["chunks"] = sheet.apart(stored(encode(table)))
    return members
