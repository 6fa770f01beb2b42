"""Asks `store.labels` what an exchange means, from the redacted bytes that are stored.

Rules kept here:
- A failure to understand never fails the exchange; it is counted.
- A long body is read in a thread: other exchanges do not wait for it.
"""

import asyncio

from addons.flows import Counts
from store.labels.dialect import RequestLabels, ResponseLabels
from store.labels.own import OwnRules
from store.labels.wire import Request

LONG_BYTES = 256 * 1024


async def ask_request(counts: Counts, own: OwnRules, request: Request) -> RequestLabels | None:
    """What a request asks for; None when that could not be found out."""
    try:
        if len(request.body) > LONG_BYTES:
            return await asyncio.to_thread(own.label, request)
        return own.label(request)
    except Exception:  # noqa: BLE001  # whatever the wire brought: it is recorded all the same, without labels
        counts.unlabelled += 1
        return None


async def ask_response(
    counts: Counts,
    own: OwnRules,
    request: RequestLabels | None,
    status: int,
    fields: list[tuple[bytes, bytes]],
    body: bytes,
) -> ResponseLabels | None:
    """What a response tells; None when that could not be found out."""
    if request is None:
        return None
    try:
        if len(body) > LONG_BYTES:
            return await asyncio.to_thread(own.response_labels, request, status, fields, body)
        return own.response_labels(request, status, fields, body)
    except Exception:  # noqa: BLE001  # as above
        counts.unlabelled += 1
        return None
