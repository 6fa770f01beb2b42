"""What a request is: the labels that a recorder gives it, for one that is compared."""

from dataclasses import replace
from typing import Any

from store.core.draft import Sheet
from store.core.form import Asked
from store.core.model import HttpRequest, HttpResponse
from store.labels.dialect import RequestLabels, ResponseLabels
from store.labels.own import NO_RULES, OwnRules
from store.labels.spelling import response_members
from store.labels.wire import Request

TELEMETRY = "telemetry"
AUTH = "auth"

type Likeness = HttpResponse | ResponseLabels | None
"""A recorded answer whose labels an answer takes, or labels of its own."""


def kind(asked: Asked) -> str:
    """The class of a request."""
    return labels(asked).kind


def labels(asked: Asked, own: OwnRules = NO_RULES) -> RequestLabels:
    """What a request asks for, by our rules and an operator's own."""
    place = asked.endpoint
    request = Request(
        place.method.encode("latin-1"),
        place.scheme.encode("latin-1"),
        place.host.encode("latin-1"),
        place.port,
        place.path,
        asked.headers,
        asked.body,
    )
    return own.label(request)


def of_request(like: HttpRequest) -> dict[str, Any]:
    """The labels of a recorded request, as far as they are short enough to stand in an envelope.

    They are not derived from what is recorded here, so no rules are named.
    """
    names = ("kind", "boundary", "effect", "operation", "tool", "model")
    return {name: value for name in names if isinstance(value := getattr(like, name), str)}


def of_answer(sheet: Sheet, like: Likeness) -> dict[str, Any]:
    """The same of a recorded answer, or those of one that a person had a hand in. A receipt is none of ours: a replay
    does nothing.
    """
    if like is None:
        return {}
    if isinstance(like, ResponseLabels):
        return response_members(sheet, replace(like, receipt=None))
    texts = {name: value for name in ("model", "stop") if isinstance(value := getattr(like, name), str)}
    tools = like.tools if all(isinstance(tool, str) for tool in like.tools or ()) else None
    return {**texts, "usage": like.usage, "tools": tools}
