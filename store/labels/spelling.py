"""Spells labels for the events that they belong to."""

from typing import Any

from store.core.canonical import INTEGER_MAX
from store.core.draft import Sheet
from store.core.redact import stored
from store.core.text import Text, text
from store.labels import classify
from store.labels.dialect import RequestLabels, ResponseLabels

NAME_BYTES_MAX = 256
SETTINGS_MAX = 32
TOOLS_MAX = 100


def request_members(sheet: Sheet, labels: RequestLabels | None) -> dict[str, Any]:
    """The members that labels add to an `http.request`, each short enough for its envelope."""
    if labels is None:
        return {}
    return {
        "kind": labels.kind,
        "boundary": labels.boundary,
        "effect": labels.effect,
        "operation": _name(labels.operation),
        "tool": _text(sheet, labels.tool),
        "model": _text(sheet, labels.model),
        "settings": [[_name(name), _text(sheet, value)] for name, value in labels.settings[:SETTINGS_MAX]] or None,
        "idempotency_key": _text(sheet, labels.idempotency_key),
        "trace_id": labels.trace_id,
        "span_id": labels.span_id,
        "rules": labels.rules or classify.RULES,
    }


def response_members(sheet: Sheet, labels: ResponseLabels | None) -> dict[str, Any]:
    """The members that labels add to an `http.response`, each short enough for its envelope."""
    if labels is None:
        return {}
    return {
        "model": _text(sheet, labels.model),
        "usage": [[_name(name), count] for name, count in labels.usage[:SETTINGS_MAX] if _fits(count)] or None,
        "stop": _text(sheet, labels.stop),
        "tools": [_text(sheet, name) for name in labels.tools[:TOOLS_MAX]] or None,
        "provider_request_id": _text(sheet, labels.provider_request_id),
        "receipt": _text(sheet, labels.receipt),
        "rules": labels.rules or classify.RULES,
    }


def _text(sheet: Sheet, said: str | None) -> Text | None:
    if said is None:
        return None
    # JSON may spell half a surrogate pair, which no UTF-8 has: those bytes are kept as bytes.
    raw = said.encode("utf-8", "surrogatepass")
    return sheet.apart(stored(raw), "text/plain") if len(raw) > NAME_BYTES_MAX else text(raw)


def _fits(count: int) -> bool:
    """Whether a record can spell what a provider counted."""
    return abs(count) <= INTEGER_MAX


def _name(said: str | None) -> str | None:
    return None if said is None else said[:NAME_BYTES_MAX].encode("utf-8", "replace").decode()
