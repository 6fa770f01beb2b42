"""What a request is: the labels that a recorder gives it, for one that is compared."""

from store.core.form import Asked
from store.labels.dialect import RequestLabels
from store.labels.own import NO_RULES, OwnRules
from store.labels.wire import Request

TELEMETRY = "telemetry"
AUTH = "auth"


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
