"""What a run whose recorder died still lacks: an outcome for every request, and its end.

docs/format.md, sections 4-5. The pieces of streams that were open lie in `pending`: the head of an answer, and what had
come of its body or of an upload. A head that cannot be read is as good as none.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from store import envelopes, journal, pending
from store.core import event
from store.core.draft import Draft, Sheet
from store.core.errors import Malformed
from store.core.event import Event
from store.core.model import Framing, HttpError, HttpRequestEnd, HttpResponse
from store.core.redact import stored
from store.core.redaction.marks import tally
from store.core.text import Text, text_bytes
from store.database.connection import Connection
from store.livelogs import LiveLogs
from store.vault import RunKeys


class AnswerHead(msgspec.Struct, frozen=True):
    """What the pending part `head` holds: an answer's status line and headers, already redacted, as an envelope
    spells them. `exact` is False where the content codings of what follows are undone.
    """

    status: int
    http_version: Text
    framing: Framing
    headers: list[list[Text]]
    reason: Text | None = None
    exact: bool = True


def close_requests(connection: Connection, logs: LiveLogs, run: str, now: journal.Now, *, dead: bool) -> int:
    """Gives every request of `run` that has no outcome one that says the recorder stopped; how many there were.

    An upload that was still coming is ended too, be its outcome there or not. `dead` when another recorder wrote the
    run: then every event is read whole. Raises Malformed for one that is none.
    """
    uploads, requests = _unfinished(connection, run, event.decode if dead else event.glimpsed)
    for req in sorted(uploads | requests):
        keys = logs.keys(connection, run)
        if req in uploads:
            journal.append(connection, logs, run, journal.weighed(_upload(connection, keys, req)), now)
        if req in requests:
            journal.append(connection, logs, run, journal.weighed(_outcome(connection, keys, req)), now)
    pending.drop_all(connection, run)
    return len(uploads | requests)


def answer_head(raw: bytes) -> AnswerHead:
    """The head that a pending part `head` holds. Raises Malformed."""
    try:
        return msgspec.json.decode(raw, type=AnswerHead)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Malformed(f"not the head of an answer: {error}") from error


def _unfinished(connection: Connection, run: str, read: Callable[[bytes], Event]) -> tuple[set[int], set[int]]:
    """The seqs of the requests whose uploads have no end, and of those that have no outcome."""
    uploads: set[int] = set()
    requests: set[int] = set()
    for envelope in envelopes.in_order(connection, run):
        happened = read(envelope.raw)
        match happened.type:
            case "http.request":
                requests.add(happened.seq)
                if happened.glimpse.streaming:
                    uploads.add(happened.seq)
            case "http.request.end":
                uploads.discard(happened.req)
            case "http.response" | "http.error":
                requests.discard(happened.req)
    return uploads, requests


def _outcome(connection: Connection, keys: RunKeys, req: int) -> Draft:
    try:
        answer = answer_head(pending.part(connection, keys, req, "head"))
    except Malformed:
        return Draft(HttpError(req=req, kind="recorder_stopped"))
    sheet = Sheet()
    body = pending.part(connection, keys, req, "answer")
    return sheet.draft(
        HttpResponse(
            req=req,
            status=answer.status,
            reason=sheet.text(stored(text_bytes(answer.reason))) if answer.reason is not None else None,
            http_version=sheet.text(stored(text_bytes(answer.http_version))),
            headers=sheet.pairs(
                [(stored(text_bytes(name)), stored(text_bytes(value))) for name, value in answer.headers]
            ),
            framing=answer.framing,
            ended="recorder_stopped",
            body=sheet.apart(stored(body)) if body else None,
            **_changes(body, exact=answer.exact),
        )
    )


def _upload(connection: Connection, keys: RunKeys, req: int) -> Draft:
    sheet = Sheet()
    body = pending.part(connection, keys, req, pending.UPLOAD)
    return sheet.draft(
        HttpRequestEnd(
            req=req,
            ended="recorder_stopped",
            body=sheet.apart(stored(body)) if body else None,
            **_changes(body, exact=True),
        )
    )


def _changes(body: bytes, *, exact: bool) -> dict[str, Any]:
    """What the pieces of a body say of their redaction: their marks are all that is left to tell it by."""
    counts = tally(body)
    if not body or (exact and not counts):
        return {}
    return {"exact": False, "redactions": counts}
