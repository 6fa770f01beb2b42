"""A stored block is read as it was closed, where it was closed, or not at all."""

import os

import pytest

from store.core.errors import Malformed
from store.splices.guard import Cipher
from store.splices.stream import Block, Span

SPAN = Span(3, 100, 50, 2)
KEY = bytes(range(32))


def cipher(key: bytes = KEY, store: str = "store", run: str = "run") -> Cipher:
    """A cipher with fresh nonces."""
    return Cipher(key, store, run, lambda: os.urandom(12))


def test_any_changed_byte_any_cut_and_any_other_place_is_refused() -> None:
    guard = cipher()
    stored = guard.close(Block(SPAN, b"the content of a block"))
    assert guard.open(SPAN, stored) == b"the content of a block"
    for at in range(len(stored)):
        with pytest.raises(Malformed):
            guard.open(SPAN, stored[:at] + bytes((stored[at] ^ 1,)) + stored[at + 1 :])
        with pytest.raises(Malformed):
            guard.open(SPAN, stored[:at])
    for span in (Span(4, 100, 50, 2), Span(3, 101, 50, 2), Span(3, 100, 51, 2), Span(3, 100, 50, 3)):
        with pytest.raises(Malformed):
            guard.open(span, stored)


@pytest.mark.parametrize(
    "other", [cipher(bytes(32)), cipher(store="other"), cipher(run="other")], ids=["key", "store", "run"]
)
def test_a_block_of_another_key_store_or_run_is_refused(other: Cipher) -> None:
    with pytest.raises(Malformed):
        other.open(SPAN, cipher().close(Block(SPAN, b"content")))


def test_a_cipher_hides_the_content_and_never_repeats_itself() -> None:
    block = Block(SPAN, b"a canary in a block")
    one, two = cipher().close(block), cipher().close(block)
    assert b"canary" not in one
    assert one != two
    assert len(one) == len(block.content) + 28
