"""The model that some providers name in the path (Gemini, Vertex, Bedrock, Azure), taken out of it.

So a request for another model goes to the same place, and differs in its model.
"""

import re
from urllib.parse import quote

from store.core.form import Endpoint, Form

_MODEL = re.compile(
    rb"(?:/models/(?P<google>[^/:%]+)(?::|%3[aA])[A-Za-z]+$"
    rb"|/model/(?P<bedrock>[^/]+)/(?:converse|converse-stream|invoke|invoke-with-response-stream|count-tokens)$"
    rb"|/openai/deployments/(?P<azure>[^/]+)/)"
)
_PLACEHOLDER = b"{model}"


def split(place: Endpoint) -> tuple[Endpoint, str]:
    """The endpoint without its model, and that as it was spelled: "" where the path names none."""
    found = _MODEL.search(place.path) if place.method == "POST" else None
    if found is None:
        return place, ""
    kind = str(found.lastgroup)
    start, end = found.span(kind)
    return place._replace(path=place.path[:start] + _PLACEHOLDER + place.path[end:]), found[kind].decode("latin-1")


def respelled(place: Endpoint, model: str) -> Endpoint | None:
    """The endpoint with another model in its path, None where the path names none."""
    bare, known = split(place)
    spelled = quote(model, safe=":@.-_~").encode()
    return place._replace(path=bare.path.replace(_PLACEHOLDER, spelled, 1)) if known else None


def named(form: Form) -> str:
    """Method and URL as a person reads them, with the model."""
    path = form.document.get("path")
    model = path.get("model") if isinstance(path, dict) else None
    if not isinstance(model, str):
        return form.endpoint.place
    place = form.endpoint
    return place._replace(path=place.path.replace(_PLACEHOLDER, model.encode("latin-1"))).place
