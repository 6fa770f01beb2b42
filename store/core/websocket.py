"""Messages of a WebSocket as events (RFC 6455): each whole, whatever its frames were."""

from collections.abc import Mapping
from typing import Any, Literal

from store.core.draft import Draft, Sheet
from store.core.model import WsClose, WsMessage
from store.core.redact import Redacted

type Direction = Literal["to_server", "to_client"]
type By = Literal["client", "server", "unknown"]

BROKEN_OFF = 1006  # nobody said goodbye (RFC 6455, section 7.1.5)

_LATER = -1  # stands where the writer puts the seq of the request


def media_type(*, is_text: bool) -> str:
    """What is known of the content of a message."""
    return "text/plain" if is_text else "application/octet-stream"


def message(body: Redacted, direction: Direction, changed: Mapping[str, Any], *, is_text: bool) -> Draft:
    """`ws.message`; `changed` are the members that tell how `body` differs from what crossed the wire."""
    sheet = Sheet()
    return sheet.draft(
        WsMessage(
            req=_LATER,
            direction=direction,
            opcode="text" if is_text else "binary",
            body=sheet.apart(body, media_type(is_text=is_text)),
            **changed,
        )
    )


def goodbye(code: int, by: By, reason: Redacted | None = None) -> Draft:
    """`ws.close`."""
    sheet = Sheet()
    said = sheet.apart(reason, "text/plain") if reason is not None and reason.content else None
    return sheet.draft(WsClose(req=_LATER, code=code, by=by, reason=said))
