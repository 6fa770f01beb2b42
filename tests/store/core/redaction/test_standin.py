"""A stand-in is the same for the same run, class and number, looks like its class, and is known when it comes back."""

import base64
import json

import pytest

from store.core.redact import Content, Redactor
from store.core.redaction.shapes import SHAPES
from store.core.redaction.standin import stand_in

KINDS = sorted({shape.kind for shape in SHAPES} | {"oauth", "cookie", "field", "sts", "telegram", "private-key"})


@pytest.mark.parametrize("kind", KINDS)
def test_a_stand_in_follows_from_run_class_and_number(kind: str) -> None:
    made = {stand_in(run, kind, number) for run in ("a", "b") for number in (1, 2)}
    assert len(made) == 4
    assert stand_in("a", kind, 1) == stand_in("a", kind, 1)
    assert all(each.decode().isascii() and b'"' not in each and b"\\" not in each for each in made)


@pytest.mark.parametrize("kind", ["anthropic", "openai", "github", "google", "aws", "slack", "jwt", "groq", "telegram"])
def test_a_stand_in_has_the_shape_of_its_class(kind: str) -> None:
    assert Redactor().body(stand_in("run", kind, 1)).content == f"<edgetape:{kind}:1>".encode()


def test_a_token_can_be_read_and_never_ends() -> None:
    head, claims, _ = stand_in("run", "jwt", 1).split(b".")
    assert json.loads(base64.urlsafe_b64decode(head + b"=="))["typ"] == "JWT"
    assert json.loads(base64.urlsafe_b64decode(claims + b"=="))["exp"] > 4_000_000_000


def test_a_stand_in_is_known_wherever_it_comes_back() -> None:
    redactor = Redactor()
    made = stand_in("run", "oauth", 3)
    assert redactor.secrets.adopt(made, "oauth") == b"<edgetape:oauth:1>"
    assert redactor.header(b"Authorization", b"Bearer " + made).content == b"Bearer <edgetape:oauth:1>"
    raw = b'{"x": "' + base64.b64encode(b"u:" + made) + b'"}'
    assert b"<edgetape:oauth:1>" in redactor.body(raw, Content(b"application/json")).content
