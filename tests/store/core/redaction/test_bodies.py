"""What a body is decides where secrets are looked for; what is known is found in any spelling, in any body."""

import base64
import gzip
import json
import struct
import zlib
from urllib.parse import quote

import brotli  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from store.core.coding import decode
from store.core.frames import payloads
from store.core.redact import Content, Redacted, Redactor, is_withheld

SECRET = 'p@ss/w+rd "quoted" äöü 4711'
TOKEN = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
JSON = b"application/json"
PACKERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def body(raw: bytes, media_type: bytes = JSON, coding: str = "", known: str = "", endpoint: str = "") -> Redacted:
    return Redactor(known=[known] if known else []).body(raw, Content(media_type, coding, endpoint))


@pytest.mark.parametrize("coding", PACKERS)
def test_a_coded_body_is_stored_decoded_only_where_it_had_to_change(coding: str) -> None:
    clean, telling = b'{"n": 1}' * 50, b'{"access_token": "ya29.secret"}'
    kept = body(PACKERS[coding](clean), coding=coding)
    assert (kept.content, kept.exact, kept.decoded) == (PACKERS[coding](clean), True, False)
    packed = PACKERS[coding](telling)
    changed = body(packed, coding=coding)
    assert changed.content == b'{"access_token": "<edgetape:field:1>"}'
    assert (changed.exact, changed.decoded, changed.wire_bytes) == (False, True, len(packed))


def test_codings_on_one_another_are_undone() -> None:
    packed = gzip.compress(zlib.compress(b'{"api_key": "x"}'))
    assert body(packed, coding="deflate, gzip").content == b'{"api_key": "<edgetape:field:1>"}'


@pytest.mark.parametrize("coding", ["gzip", "unheard-of"])
def test_text_that_cannot_be_read_is_withheld_whole(coding: str) -> None:
    damaged = b"\x1f\x8b\x08\x00" + bytes(range(256)) * 4
    redacted = body(damaged, coding=coding)
    assert redacted.content == b"<edgetape:withheld:1>"
    assert is_withheld(redacted.content)
    assert body(damaged, b"image/png", coding).content == damaged


def test_text_that_only_claims_to_be_coded_is_read_as_it_is() -> None:
    assert body(b'{"api_key": "x"}', coding="gzip").content == b'{"api_key": "<edgetape:field:1>"}'


def test_of_a_body_that_was_cut_off_what_came_is_read() -> None:
    packed = gzip.compress(json.dumps({"api_key": "x", "rest": list(range(9000))}).encode())
    redacted = body(packed[: len(packed) // 2], coding="gzip")
    assert redacted.content.startswith(b'{"api_key": "<edgetape:field:1>"')
    clean = gzip.compress(json.dumps(list(range(9000))).encode())[:5000]
    assert body(clean, coding="gzip").content == clean


def test_a_small_body_that_unpacks_without_end_is_bounded() -> None:
    bomb = gzip.compress(b" " * 300_000_000, compresslevel=1)
    assert body(bomb, b"text/plain", "gzip").content == b"<edgetape:withheld:1>"


@given(secret=st.text(min_size=8, max_size=30).filter(lambda each: "edge" not in each and each not in "environment"))
def test_a_known_secret_is_found_in_every_spelling(secret: str) -> None:
    try:
        raw = secret.encode()
    except UnicodeEncodeError:
        return
    spelled = {
        "raw": raw,
        "json": json.dumps(secret).encode()[1:-1],
        "json utf-8": json.dumps(secret, ensure_ascii=False).encode()[1:-1],
        "json in json": json.dumps(json.dumps(secret)).encode()[3:-3],
        "url": quote(secret, safe="").encode(),
        "url with slashes": quote(secret).encode(),
        "hex": raw.hex().encode(),
        "base64": base64.b64encode(raw),
        "base64url": base64.urlsafe_b64encode(raw),
    }
    for name, form in spelled.items():
        redacted = body(b'{"x": "' + form + b'"}', known=secret)
        assert redacted.content == b'{"x": "<edgetape:environment:1>"}', name


def varied(raw: bytes) -> bool:
    """Whether a secret is none of those that look alike at more than one place."""
    return len(set(raw)) > 6


@given(before=st.binary(max_size=7), after=st.binary(max_size=7), raw=st.binary(min_size=9, max_size=40).filter(varied))
def test_a_known_secret_is_found_within_something_longer_in_base64(before: bytes, after: bytes, raw: bytes) -> None:
    encoded = base64.b64encode(before + raw + after)
    secret = raw.decode("utf-8", "surrogateescape")
    left = body(b'{"x": "' + encoded + b'"}', known=secret).content.removeprefix(b'{"x": "').removesuffix(b'"}')
    assert left != encoded
    start, end = left.split(b"<edgetape:environment:1>")[0], left.rsplit(b"<edgetape:environment:1>")[-1]
    # No letter that holds a bit of the secret is left at either side.
    assert len(start) * 6 <= len(before) * 8
    assert len(end.rstrip(b"=")) * 6 <= len(after) * 8 + 5


def test_what_was_taken_out_once_is_found_in_every_later_body() -> None:
    redactor = Redactor()
    redactor.header(b"Authorization", b"Bearer " + TOKEN.encode())
    redactor.header(b"Proxy-Authorization", b"Basic " + base64.b64encode(b"user:correct-horse-7"))
    redactor.query(b"api_key=query-secret-99")
    redactor.header(b"Set-Cookie", b"sid=cookie-secret-12345; Path=/", response=True)
    redactor.body(b'{"password": "json-secret-42"}', Content(JSON))
    echo = {"a": [TOKEN, "correct-horse-7", "query-secret-99", "cookie-secret-12345", "json-secret-42"]}
    redacted = redactor.body(json.dumps(echo).encode(), Content(JSON))
    assert json.loads(redacted.content)["a"] == [
        "<edgetape:authorization:1>",
        "<edgetape:environment:1>",
        "<edgetape:query:1>",
        "<edgetape:cookie:1>",
        "<edgetape:field:1>",
    ]


@given(content=st.lists(st.sampled_from(['"', "\\", "{", "key", ":", "x" * 20, "=", " ", "\n", TOKEN]), max_size=40))
def test_what_went_through_once_goes_through_unchanged(content: list[str]) -> None:
    once = body("".join(content).encode(), known=TOKEN)
    assert body(once.content, known=TOKEN).content == once.content


def test_forms_and_parts_are_read_by_their_fields_names() -> None:
    form = body(b"grant_type=password&password=a%26b&client_secret=x&page=2", b"application/x-www-form-urlencoded")
    assert form.content == (b"grant_type=password&password=<edgetape:form:1>&client_secret=<edgetape:form:2>&page=2")
    raw = (
        b'--cut\r\nContent-Disposition: form-data; name="api_key"\r\n\r\nsecret\r\n'
        b'--cut\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n\x00\x01\r\n--cut--\r\n'
    )
    parts = body(raw, b"multipart/form-data; boundary=cut")
    assert parts.content == raw.replace(b"\r\n\r\nsecret", b"\r\n\r\n<edgetape:form:1>")


def test_in_pictures_only_known_secrets_are_looked_for() -> None:
    raw = b"\x89PNG\r\n password=" + TOKEN.encode() + b"\x00"
    assert body(raw, b"image/png").content == raw
    assert TOKEN.encode() not in body(raw, b"image/png", known=TOKEN).content


def test_a_format_with_lengths_in_it_is_withheld_where_it_would_break() -> None:
    raw = b"\0\0\0\0\x20" + TOKEN.encode()
    assert body(raw, b"application/grpc").content == raw
    assert is_withheld(body(raw, b"application/grpc", known=TOKEN).content)


def frame(payload: bytes, headers: bytes = b"\x0b:event-type\x07\x00\x05chunk") -> bytes:
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def test_an_event_stream_of_aws_gets_new_lengths_and_checks() -> None:
    said = b'{"bytes":"%s"}' % base64.b64encode(json.dumps({"text": f"your key {TOKEN}!"}).encode())
    raw = frame(b"{}") + frame(said) + frame(b'{"n":1}')
    redacted = body(raw, b"application/vnd.amazon.eventstream", known=TOKEN)
    assert not redacted.exact
    assert not is_withheld(redacted.content)
    found = payloads(redacted.content)
    assert found is not None
    assert [redacted.content[start:end] for _, start, end in found][::2] == [b"{}", b'{"n":1}']
    for begin, start, end in found:
        message = redacted.content[begin : end + 4]
        assert frame(message[start - begin : -4]) == message
    assert body(raw, b"application/vnd.amazon.eventstream").content == raw


@pytest.mark.parametrize("size", [1_000, 70_000, 300_000])
def test_the_work_is_done_in_steps(size: int) -> None:
    steps = Redactor().body_steps(b"word " * (size // 5), Content(JSON))
    assert sum(1 for _ in steps) >= 2 * (size // 32_768)


def test_a_decoded_body_is_what_the_codings_hold() -> None:
    packed = gzip.compress(b'{"password": "x", "n": 1.0}')
    plain = body(decode(packed, "gzip", 1000))
    assert body(packed, coding="gzip").content == plain.content
