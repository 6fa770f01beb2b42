"""What is closed opens with its key, at its place, unchanged; or not at all."""

import os

import pytest

from store.core.aead import Aead
from store.core.errors import Malformed

KEY = bytes(range(32))


def aead(key: bytes = KEY) -> Aead:
    return Aead(key, lambda: os.urandom(12))


def test_it_opens_with_the_same_key_and_place_alone() -> None:
    closed = aead().close(b"content", b"here")
    assert aead().open(closed, b"here") == b"content"
    for other, place in ((aead(bytes(32)), b"here"), (aead(), b"there")):
        with pytest.raises(Malformed):
            other.open(closed, place)


def test_any_changed_byte_and_any_cut_is_refused() -> None:
    closed = aead().close(b"content", b"here")
    for at in range(len(closed)):
        for spoilt in (closed[:at] + bytes((closed[at] ^ 1,)) + closed[at + 1 :], closed[:at]):
            with pytest.raises(Malformed):
                aead().open(spoilt, b"here")


def test_what_it_stores_is_nonce_ciphertext_and_tag() -> None:
    fixed = Aead(KEY, lambda: bytes(12))
    assert fixed.close(b"", b"")[:12] == bytes(12)
    assert len(fixed.close(b"content", b"")) == 12 + 7 + 16
