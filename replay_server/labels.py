"""What a request is: the labels that a recorder gives it, for one that is compared."""

from store.core.form import Asked
from store.labels.classify import request_labels
from store.labels.dialect import RequestLabels

TELEMETRY = "telemetry"
AUTH = "auth"


def kind(asked: Asked) -> str:
    """The class of a request."""
    return labels(asked).kind


def labels(asked: Asked) -> RequestLabels:
    """What a request asks for."""
    place = asked.endpoint
    return request_labels(
        place.method.encode("latin-1"),
        place.scheme.encode("latin-1"),
        place.host.encode("latin-1"),
        place.port,
        place.path,
        asked.headers,
        asked.body,
    )
