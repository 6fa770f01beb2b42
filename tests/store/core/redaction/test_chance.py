"""Bytes encoded as text hold every short word by chance: none is a token, and real ones among them are found."""

import base64
import binascii
import json
import random
from collections.abc import Callable

import pytest

from store.core.redact import Redactor
from store.core.redaction.shapes import SHAPES

A = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
NOISE = random.Random(4711).randbytes(60_000)
# Those of six letters come by chance in no amount of bytes that anybody records.
HEADS = [head for shape in SHAPES if shape.common for head in shape.heads.split() if len(head) < 6]


def lines(encoded: bytes, width: int, end: bytes = b"\n") -> bytes:
    return b"".join(encoded[at : at + width] + end for at in range(0, len(encoded), width))


def dumped(raw: bytes) -> bytes:
    return b"".join(b"%08x: %s\n" % (at, raw[at : at + 16].hex(" ", 2).encode()) for at in range(0, len(raw), 16))


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "base64 of mail": base64.encodebytes,
    "base64 of PEM": lambda raw: lines(base64.b64encode(raw), 64),
    "base64 of Windows": lambda raw: lines(base64.b64encode(raw), 76, b"\r\n"),
    "base64 in a JSON string": lambda raw: json.dumps(base64.encodebytes(raw).decode()).encode(),
    "base64url in lines": lambda raw: lines(base64.urlsafe_b64encode(raw), 76),
    "base64 in one line": base64.b64encode,
    "a data URL": lambda raw: b'<img src="data:image/png;base64,' + base64.b64encode(raw) + b'">',
    "uuencode": lambda raw: b"".join(binascii.b2a_uu(raw[at : at + 45]) for at in range(0, len(raw), 45)),
    "base85": base64.b85encode,
    "hex in lines": lambda raw: lines(raw.hex().encode(), 60),
    "a hex dump": dumped,
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_encoded_bytes_stay_as_they_are(name: str) -> None:
    encoded = ENCODINGS[name](NOISE)
    assert Redactor().body(encoded).content == encoded


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\\n", b"\\r\\n"])
@pytest.mark.parametrize("head", HEADS)
def test_no_line_of_base64_holds_a_token_by_chance(head: str, end: bytes) -> None:
    """Each beginning at many places of a line where a word may begin, and the whole line its token."""
    encoded = base64.b64encode(NOISE)[:7600].replace(b"+", b"x")
    made = [bytearray(encoded[at : at + 76]) for at in range(0, len(encoded), 76)]
    for number, line in enumerate(made):
        at = number % 60 if number % 3 else 0
        line[at : at + len(head)] = head.encode()
        if at:
            line[at - 1] = ord("/")
    body = b"".join(line + end for each in made for line in (each, encoded[:76]))  # none beside its like
    assert body.count(head.encode()) >= 100
    assert Redactor().body(body).content == body


@pytest.mark.parametrize(
    "token",
    ["AIza" + A + "01234567", "LTAI" + A[:20], "AKIAIOSFODNN7EXAMPLE", "ghp_" + A + "012345678", "sk-" + A + A[:21],
     "EAAA" + A + A, "1//0" + A + A],
)  # fmt: skip
@pytest.mark.parametrize("place", ["{}", "key is {} here", 'export KEY="{}"', "?key={}&n=1"])
def test_a_token_on_a_line_of_its_own_among_base64_is_found(token: str, place: str) -> None:
    begin, end = base64.encodebytes(NOISE[:9000]), base64.encodebytes(NOISE[9000:18_000])
    body = begin + place.format(token).encode() + b"\n" + end
    assert token.encode() not in Redactor().body(body).content


def test_a_list_of_tokens_of_the_same_length_is_found() -> None:
    tokens = [f"EAAA{A}{A}{number:06}" for number in range(5)]
    found = Redactor().body("\n".join(tokens).encode())
    assert not any(token.encode() in found.content for token in tokens)


def test_a_private_key_among_base64_is_found() -> None:
    key = base64.encodebytes(NOISE[:1200])
    body = base64.encodebytes(NOISE[2000:9000])
    body += b"-----BEGIN PRIVATE KEY-----\n" + key + b"-----END PRIVATE KEY-----\n"
    assert key.strip() not in Redactor().body(body).content


def test_a_known_secret_is_found_in_the_base64_of_what_holds_it() -> None:
    secret = "x-aB3dE6gH9jK2mN5pQ8sT1vW"
    for offset in range(3):
        told = json.dumps({"api_key": secret}).encode()
        encoded = base64.encodebytes(NOISE[: 57 * 40 + offset] + told + NOISE[:3000])
        assert Redactor(known=(secret,)).body(encoded).marks == (("environment", 1),)


def test_a_word_that_must_stand_near_tells_a_short_beginning() -> None:
    token = "YC" + A + "01234567890"
    assert Redactor().body(f"id {token} end".encode()).exact
    assert token.encode() not in Redactor().body(f"yandex.cloud, id {token} end".encode()).content
