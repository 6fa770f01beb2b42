"""Forms of requests for the tests of the pure rooms."""

import json

from replay_server.normalise import told
from store.core.form import Asked, Endpoint, Form, normal
from store.core.redact import Redactor

CHAT = Endpoint("POST", "https", "api.openai.com", 443, b"/v1/chat/completions")
TOOL = Endpoint("POST", "https", "tools.example.com", 443, b"/search")
JSON = ((b"Content-Type", b"application/json"),)


def chat(*messages: tuple[str, str], place: Endpoint = CHAT, **more: object) -> Form:
    """A chat request whose messages are (role, text)."""
    said = [{"role": role, "content": text} for role, text in messages]
    return posted({"model": "m1", "messages": said, **more}, place)


def posted(value: object, place: Endpoint = TOOL, query: bytes = b"") -> Form:
    """A POST of a JSON body."""
    return normal(Asked(place, query, JSON, json.dumps(value).encode()))


def got(path: str, query: bytes = b"") -> Form:
    """A GET."""
    return normal(Asked(Endpoint("GET", "https", "tools.example.com", 443, path.encode()), query))


def live(asked: Asked, redactor: Redactor) -> Form:
    """The form of a live request after redaction."""
    return normal(told(asked, redactor).asked)
