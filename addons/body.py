"""What an event says of a body: itself, its pieces, and how it differs from what crossed the wire."""

import asyncio
from typing import Any

from addons.flows import Pairs
from addons.pacing import paced
from addons.tee import Tee
from store.core.chunks import encode
from store.core.draft import Sheet, altered
from store.core.redact import Content, Long, Redacted, Redactor, stored
from store.core.redaction.pieces import recut


async def redacted_body(redactor: Redactor, content: bytes, about: Content, tee: Tee | None) -> Redacted | Long:
    """A body without its secrets: `content`, or what `tee` had of it where it came in pieces."""
    if tee is not None and tee.is_long:
        return await paced(redactor.long_steps(tee.pieces, tee.kept_bytes, about, tee.spool))
    return await paced(redactor.body_steps(content if tee is None else tee.content, about))


async def body_members(
    sheet: Sheet, redacted: Redacted | Long, fields: Pairs, tee: Tee | None = None
) -> dict[str, Any]:
    """The members that tell of a body, for any event that has one; `fields` describe it, `tee` had it if it came in
    pieces.
    """
    if not redacted.length:
        return {}
    about = Content.of(fields)
    members = {
        "body": sheet.apart(redacted, about.media_type, "" if redacted.decoded else about.coding),
        **altered(redacted),
    }
    if tee is not None:
        if tee.truncated:
            members |= {"truncated": True, "wire_bytes": tee.seen_bytes}
        # In a thread: undoing a content coding once more, to find the borders, leaves the interpreter to others.
        content = tee.pieces() if tee.is_long else tee.content
        table = await asyncio.to_thread(recut, tee.chunks, content, about.coding, redacted)
        members["chunks"] = sheet.apart(stored(encode(table)))
    return members
