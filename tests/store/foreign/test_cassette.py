"""Cassettes of vcrpy and VCR, read as exchanges; what they do not hold is said."""

import base64
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.foreign import sniff
from store.foreign.recording import Answer, Exchange, NotForeign, Recording

VCRPY = b"""interactions:
- request:
    body: '{"model":"m1","n":1}'
    headers:
      Accept: ['*/*']
      Content-Type: [application/json]
      X-Twice: [one, two]
    method: post
    uri: https://api.example.com:8443/v1/chat%20x?b=2&a=1
  response:
    body: {string: !!binary "/9j/4A=="}
    headers: {Content-Type: [image/jpeg], Date: [2024-01-02]}
    status: {code: 200, message: OK}
version: 1
"""
RUBY = b"""---
http_interactions:
- request:
    method: get
    uri: http://tools.example.com/find?q=a
    body: {encoding: US-ASCII, string: ''}
    headers: {Accept: ["*/*"]}
  response:
    status: {code: 404, message: Not Found}
    headers: {Content-Type: [text/plain]}
    body: {encoding: UTF-8, base64_string: "bm9uZQ==\\n"}
  recorded_at: Tue, 01 Nov 2022 04:58:44 GMT
recorded_with: VCR 6.1.0
"""


def only(recording: Recording) -> tuple[Exchange, Answer]:
    assert len(recording.exchanges) == 1
    answer = recording.exchanges[0].outcome
    assert isinstance(answer, Answer)
    return recording.exchanges[0], answer


def one(request: dict[str, object] | None = None, response: dict[str, object] | None = None) -> Recording:
    """What is read from a cassette in JSON with one interaction."""
    asked = {"method": "POST", "uri": "https://a.example/x", "headers": {}, "body": "{}"} | (request or {})
    answer = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}} | (response or {})
    return sniff.read(json.dumps({"version": 1, "interactions": [{"request": asked, "response": answer}]}).encode())


def test_vcrpy_keeps_texts_bytes_and_repeated_fields() -> None:
    found = sniff.read(VCRPY)
    exchange, answer = only(found)
    place = exchange.asked.endpoint
    assert place == ("POST", "https", "api.example.com", 8443, b"/v1/chat%20x")
    assert exchange.asked.query == b"b=2&a=1"
    assert exchange.asked.body == b'{"model":"m1","n":1}'
    assert exchange.asked.headers[-2:] == ((b"X-Twice", b"one"), (b"X-Twice", b"two"))
    assert answer.body == b"\xff\xd8\xff\xe0"
    assert (b"Date", b"2024-01-02") in answer.headers
    assert (found.origin.kind, found.origin.tool) == ("vcr", "vcrpy")


def test_a_packed_cassette_is_unpacked() -> None:
    assert only(sniff.read(gzip.compress(VCRPY)))[1].status == 200


def test_vcr_of_ruby_is_read_too() -> None:
    found = sniff.read(RUBY)
    exchange, answer = only(found)
    assert exchange.asked.endpoint.place == "GET http://tools.example.com/find"
    assert (answer.status, answer.reason, answer.body) == (404, b"Not Found", b"none")
    assert (found.origin.tool, found.origin.began) == ("VCR 6.1.0", "Tue, 01 Nov 2022 04:58:44 GMT")


def test_a_body_that_is_kept_parsed_is_spelled_as_long_as_it_was() -> None:
    value = {"b": [1, 2.5, None], "a": "ü"}
    for text in (json.dumps(value), json.dumps(value, separators=(",", ":"), ensure_ascii=False)):
        length = str(len(text.encode()))
        found = one({"parsed_body": value, "body": None, "headers": {"Content-Length": [length]}})
        assert only(found)[0].asked.body == text.encode()


def test_a_decoded_answer_that_names_a_coding_is_marked_and_a_coded_one_is_not() -> None:
    decoded = one(response={"headers": {"Content-Encoding": ["gzip"]}, "body": {"string": "plain"}})
    assert only(decoded)[1].decoded
    assert "1 body without the content coding" in decoded.sentences()[0]
    packed = base64.b64encode(gzip.compress(b"plain"))
    coded = VCRPY.replace(b"/9j/4A==", packed).replace(b"Content-Type: [image", b"Content-Encoding: [gzip], A: [b")
    assert not only(sniff.read(coded))[1].decoded


def test_what_is_not_there_is_counted() -> None:
    assert one({"body": None, "headers": {"Content-Length": ["9"]}}).losses["no_request_body"] == 1
    assert one({"uri": "**REDACTED**"}).losses["not_http"] == 1
    assert one(response={"status": None}).losses["no_outcome"] == 1
    assert one(response={"body": {"base64_string": "*"}}).losses["no_answer_body"] == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nothing",
        b"{}",
        b"[1]",
        b"interactions: 3",
        b"interactions:\n- !!python/object/apply:os.system ['false']\n",
        b"interactions: [" + b"[" * 5000,
        b'{"interactions": ' + b"[" * 100_000,
        b"\x1f\x8b broken",
    ],
)
def test_what_is_no_cassette_is_refused_with_a_sentence(content: bytes) -> None:
    with pytest.raises(NotForeign):
        sniff.read(content)


def test_a_short_file_that_means_a_tree_without_end_is_not_spelled() -> None:
    levels = "\n".join(f"x{at}: &x{at} [{', '.join([f'*x{at - 1}'] * 40)}]" for at in range(1, 9))
    answer = "response: {status: {code: 200}, headers: {}, body: null}"
    request = "request: {method: POST, uri: 'http://a/b', headers: {}, parsed_body: *x8}"
    found = sniff.read(f"x0: &x0 [{'1, ' * 40}]\n{levels}\ninteractions:\n- {request}\n  {answer}\n".encode())
    assert found.losses["no_request_body"] == 1


NAMES = st.sampled_from(["request", "response", "headers", "body", "status", "uri", "method", "string", "code"])
LEAVES = st.sampled_from(["", "http://a/b", "http://[", "200", None, 0, -1, 7, True, 2.5])
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=12)


@given(TREES)
def test_no_tree_breaks_the_reader(tree: object) -> None:
    content = json.dumps({"interactions": [tree, {"request": tree, "response": tree}]}).encode()
    assert isinstance(sniff.read(content), Recording)
