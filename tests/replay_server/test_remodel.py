"""Another model in a request: its own text is put in, and nothing else of the body is touched."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay_server.remodel import remodelled
from store.core.form import Asked, Endpoint

CHAT = Endpoint("POST", "https", "api.example.com", 443, b"/v1/chat/completions")


def asked(body: bytes, place: Endpoint = CHAT, *fields: tuple[bytes, bytes]) -> Asked:
    return Asked(place, b"", ((b"Content-Type", b"application/json"), *fields), body)


@pytest.mark.parametrize(
    "body, became",
    [
        (b'{"model": "m1"}', b'{"model": "m\\"2"}'),
        (b' {\n"a": {"model":"x"}, "model" : "m1" , "t":1e0}', b' {\n"a": {"model":"x"}, "model" : "m\\"2" , "t":1e0}'),
        (b'{"mod\\u0065l":"m1","n":12345678901234567890.10}', b'{"mod\\u0065l":"m\\"2","n":12345678901234567890.10}'),
    ],
)  # fmt: skip
def test_only_the_models_name_changes(body: bytes, became: bytes) -> None:
    assert remodelled(asked(body), 'm"2').body == became


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[]", b'{"model": 1}', b'{"models": "m1"}', b"\xff", b'{"a":1,"a":2}']
)
def test_a_request_that_names_none_stays_as_it_is(body: bytes) -> None:
    assert remodelled(asked(body), "m2").body == body


def test_a_packed_body_is_sent_unpacked() -> None:
    changed = remodelled(asked(gzip.compress(b'{"model":"m1"}'), CHAT, (b"Content-Encoding", b"gzip")), "m2")
    assert (changed.body, [name for name, _ in changed.headers]) == (b'{"model":"m2"}', [b"Content-Type"])


def test_a_model_in_the_path_is_changed_there() -> None:
    place = CHAT._replace(path=b"/v1beta/models/gemini-a:generateContent")
    changed = remodelled(asked(b'{"contents": []}', place), "gemini-b/x")
    assert changed.endpoint.path == b"/v1beta/models/gemini-b%2Fx:generateContent"


@settings(max_examples=25)
@given(st.dictionaries(st.text(max_size=8), st.none() | st.floats() | st.text(max_size=8), max_size=4), st.text())
def test_the_rest_of_any_body_means_the_same(body: dict[str, object], model: str) -> None:
    raw = json.dumps({**body, "model": "m1"}).encode()
    changed = remodelled(asked(raw), model).body
    assert changed == json.dumps({**body, "model": model}).encode()
