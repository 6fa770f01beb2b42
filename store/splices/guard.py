"""What stands around a stored block, so that no changed byte of it, and no block in another's place, is ever read.

A seam with two users: a check for stores that are not encrypted, and AES-256-GCM.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from store.core.errors import Malformed
from store.splices.stream import Block, Span

_LABEL = b"edgetape/block/v1\n"
_CHECK_BYTES = 4  # against a changed byte; whoever can write can make a check, but not a body's commitment
_NONCE_BYTES = 12
_TAG_BYTES = 16


class Guard(Protocol):
    """Turns blocks into what is stored, and back."""

    def close(self, block: Block) -> bytes:
        """The stored form of a block."""

    def open(self, span: Span, stored: bytes) -> bytes:
        """The content of the block that stands at `span`. Raises Malformed unless it is as it was closed, there."""


@dataclass(frozen=True, slots=True)
class Check:
    """Four bytes of SHA-256 over the block and its place, then the block."""

    store: str
    run: str

    def close(self, block: Block) -> bytes:
        """See Guard."""
        return self._check(block.span, block.content) + block.content

    def open(self, span: Span, stored: bytes) -> bytes:
        """See Guard."""
        content = stored[_CHECK_BYTES:]
        if self._check(span, content) != stored[:_CHECK_BYTES]:
            raise Malformed("a stored block is not as it was written")
        return content

    def _check(self, span: Span, content: bytes) -> bytes:
        return hashlib.sha256(_place(self.store, self.run, span) + content).digest()[:_CHECK_BYTES]


class Cipher:
    """AES-256-GCM (NIST SP 800-38D): nonce (12 bytes), ciphertext, tag (16 bytes); the associated data is the place.

    `nonce` gives 12 fresh random bytes at each call.
    """

    def __init__(self, key: bytes, store: str, run: str, nonce: Callable[[], bytes]) -> None:
        self._cipher = AESGCM(key)
        self._store = store
        self._run = run
        self._nonce = nonce

    def close(self, block: Block) -> bytes:
        """See Guard."""
        nonce = self._nonce()
        return nonce + self._cipher.encrypt(nonce, block.content, _place(self._store, self._run, block.span))

    def open(self, span: Span, stored: bytes) -> bytes:
        """See Guard."""
        if len(stored) < _NONCE_BYTES + _TAG_BYTES:
            raise Malformed("a stored block is too short")
        try:
            return self._cipher.decrypt(
                stored[:_NONCE_BYTES], stored[_NONCE_BYTES:], _place(self._store, self._run, span)
            )
        except InvalidTag:
            raise Malformed("a stored block is not as it was written, or the key is another") from None


def _place(store: str, run: str, span: Span) -> bytes:
    numbers = (span.number, span.start, span.length, span.frame)
    return _LABEL + f"{store}\n{run}\n".encode() + b"".join(number.to_bytes(8, "big") for number in numbers)
