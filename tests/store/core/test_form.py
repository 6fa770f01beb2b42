"""Two requests have the same form when they mean the same, and only then."""

import gzip
import json
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
import zstandard

from store.core.form import Asked, Endpoint, Form, normal
from store.core.jsontext import Octets

PLACE = Endpoint("POST", "https", "api.example.com", 443, b"/v1/x")
JSON = (b"Content-Type", b"application/json")


def form(body: bytes = b"", *headers: tuple[bytes, bytes], query: bytes = b"", place: Endpoint = PLACE) -> Form:
    return normal(Asked(place, query, headers, body))


def test_json_is_compared_by_value_not_by_spelling() -> None:
    assert form(b'{"a":1,"b":"\\u00e9"}', JSON).key == form('{ "b":"é", "a":1}'.encode(), JSON).key
    assert form(b'{"a":1.0}', JSON).key != form(b'{"a":1}', JSON).key


def test_json_is_found_under_any_media_type() -> None:
    assert form(b'{"a":1,"b":2}').key == form(b'{"b":2,"a":1}').key


CODERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"gzip": gzip.compress,
    b"deflate": zlib.compress,
    b"br": brotli.compress,
    b"zstd": lambda raw: zstandard.ZstdCompressor().compress(raw[:3]) + zstandard.ZstdCompressor().compress(raw[3:]),
}


@pytest.mark.parametrize("coding", list(CODERS))
def test_a_content_coding_does_not_matter(coding: bytes) -> None:
    raw = b'{"model":"m","messages":[]}'
    coded = form(CODERS[coding](raw), JSON, (b"Content-Encoding", coding))
    assert coded.key == form(raw, JSON).key


def test_a_body_that_is_not_in_its_coding_is_taken_as_it_is() -> None:
    assert form(b"\xff\xfe", (b"content-encoding", b"gzip")).body == Octets.of(b"\xff\xfe")


def test_query_pairs_are_sorted_stably() -> None:
    assert form(query=b"b=1&a=2&b=0").key == form(query=b"a=2&b=1&b=0").key
    assert form(query=b"b=1&b=0").key != form(query=b"b=0&b=1").key


def test_percent_encoding_of_the_path_is_kept() -> None:
    assert form(place=PLACE._replace(path=b"/a%2Fb")).key != form(place=PLACE._replace(path=b"/a/b")).key


def test_only_headers_that_change_the_meaning_count() -> None:
    assert form(b"", (b"User-Agent", b"a/1"), (b"X-Request-Id", b"1")).key == form(b"", (b"user-agent", b"b/2")).key
    assert form(b"", (b"Anthropic-Beta", b"x")).key != form(b"").key
    assert form(b"", (b"Accept", b"*/*")).key == form(b"").key
    assert form(b"", (b"Accept", b"text/event-stream")).key != form(b"").key


def multipart(boundary: bytes, headers: bytes, content: bytes = b"GIF89a\x00\xff") -> Form:
    body = b"--%s\r\n%s\r\n\r\n%s\r\n--%s--\r\n" % (boundary, headers, content, boundary)
    return form(body, (b"Content-Type", b"multipart/form-data; boundary=" + boundary))


def test_c041_multipart_is_compared_by_its_parts() -> None:
    first = b'Content-Disposition: form-data; name="f"; filename="a.gif"\r\nContent-Type: image/gif'
    turned = b'content-type: image/gif\r\nContent-Disposition: form-data; name="f"; filename="a.gif"'
    assert multipart(b"AAAA", first).key == multipart(b"BBBB", first).key == multipart(b"CC", turned).key
    assert multipart(b"AAAA", first).key != multipart(b"AAAA", first, b"GIF89a\x00\xfe").key
    assert multipart(b"AAAA", first).key != multipart(b"AAAA", first.replace(b"a.gif", b"b.gif")).key


def test_form_fields_are_compared_decoded() -> None:
    kind = (b"Content-Type", b"application/x-www-form-urlencoded")
    assert form(b"a=%41+b&c=1", kind).key == form(b"c=1&a=A%20b", kind).key


def test_a_stand_in_of_a_secret_counts_by_its_class() -> None:
    one, other = form(query=b"key=<edgetape:query:1>&n=1"), form(query=b"n=1&key=<edgetape:query:7>")
    assert one.key == other.key
    assert (one.marks, other.marks) == (((b"query", 1),), ((b"query", 7),))
    assert form(query=b"key=<edgetape:cookie:1>&n=1").key != one.key


def test_deeply_nested_bodies_are_taken_as_text() -> None:
    raw = b'{"a":' * 5_000 + b"1" + b"}" * 5_000
    assert form(raw, JSON).body == raw.decode()


def test_the_boundary_of_json_in_json_is_not_seen_twice() -> None:
    inner = json.dumps({"a": 1})
    assert form(json.dumps({"x": inner}).encode()).key != form(json.dumps({"x": {"a": 1}}).encode()).key
