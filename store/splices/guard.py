"""What stands around a stored block, so that no changed byte of it, and no block in another's place, is ever read.

A seam with two users: AES-256-GCM, and what stands for it where there is no key.
"""

import struct
from collections.abc import Callable
from typing import Protocol

from store.core.aead import Aead
from store.core.errors import Malformed
from store.splices.stream import Block, Span

_LABEL = b"edgetape/block/v1\n"
_NUMBERS = struct.Struct(">4Q").pack


class Guard(Protocol):
    """Turns blocks into what is stored, and back."""

    def close(self, block: Block) -> bytes:
        """The stored form of a block."""

    def open(self, span: Span, stored: bytes) -> bytes:
        """The content of the block that stands at `span`. Raises Malformed unless it is as it was closed, there."""


class Cipher:
    """AES-256-GCM (core/aead.py); the associated data is the place. `nonce` gives 12 random bytes at each call."""

    def __init__(self, key: bytes, store: str, run: str, nonce: Callable[[], bytes]) -> None:
        self._aead = Aead(key, nonce)
        self._run = _LABEL + f"{store}\n{run}\n".encode("utf-8", "surrogateescape")

    def close(self, block: Block) -> bytes:
        """See Guard."""
        return self._aead.close(block.content, _place(self._run, block.span))

    def open(self, span: Span, stored: bytes) -> bytes:
        """See Guard."""
        return self._aead.open(stored, _place(self._run, span))


class Shut:
    """What nobody can open, for want of the key."""

    def close(self, block: Block) -> bytes:
        """See Guard."""
        raise Malformed("there is no key to close a block with")

    def open(self, span: Span, stored: bytes) -> bytes:
        """See Guard."""
        raise Malformed("there is no key that opens the block")


def _place(run: bytes, span: Span) -> bytes:
    return run + _NUMBERS(span.number, span.start, span.length, span.frame)
