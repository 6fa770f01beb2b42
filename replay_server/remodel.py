"""A request to a model with another model in it: in its JSON body, or in its path where the provider names it there.

Rules kept here:
- Nothing else of the body changes, not the spelling of a number: only the model's own text is put in.
"""

import json
import re

from msgspec.structs import replace

from replay_server.route import respelled
from store.core.coding import content_encoding
from store.core.errors import Malformed
from store.core.form import Asked, content
from store.core.jsontext import parse

_MODEL = "model"
_SPACE = re.compile(r"[ \t\n\r]*")


def remodelled(asked: Asked, model: str) -> Asked:
    """The same request to `model`; as it is where it names none."""
    place = respelled(asked.endpoint, model)
    if place is not None:
        return replace(asked, endpoint=place)
    raw = content(asked)
    try:
        said = parse(raw)
        text = raw.decode("utf-8")
    except (Malformed, UnicodeDecodeError):
        return asked
    if not isinstance(said, dict) or not isinstance(said.get(_MODEL), str):
        return asked
    start, end = _span(text)
    body = (text[:start] + json.dumps(model) + text[end:]).encode()
    headers = asked.headers
    if content_encoding(headers):
        headers = tuple(pair for pair in headers if pair[0].lower() != b"content-encoding")
    return replace(asked, headers=headers, body=body)


def _span(text: str) -> tuple[int, int]:
    """Where the value of the member `model` of an object stands, which is well formed and has it."""
    decoder = json.JSONDecoder()
    at = _after_space(text, _after_space(text, 0) + 1)  # behind {
    while True:
        name, at = decoder.raw_decode(text, at)
        start = _after_space(text, _after_space(text, at) + 1)  # behind :
        _, end = decoder.raw_decode(text, start)
        if name == _MODEL:
            return start, end
        at = _after_space(text, _after_space(text, end) + 1)  # behind ,


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
