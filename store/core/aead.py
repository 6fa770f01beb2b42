"""AES-256-GCM as edgetape stores it: nonce (12 bytes), ciphertext, tag (16 bytes) (NIST SP 800-38D); pure."""

from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from store.core.errors import Malformed

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16


class Aead:
    """Closes and opens under one key of 32 bytes. `nonce` gives 12 fresh random bytes at each call."""

    def __init__(self, key: bytes, nonce: Callable[[], bytes]) -> None:
        self._cipher = AESGCM(key)
        self._nonce = nonce

    def close(self, content: bytes, about: bytes) -> bytes:
        """What is stored of `content`; it opens only together with `about`."""
        nonce = self._nonce()
        return nonce + self._cipher.encrypt(nonce, content, about)

    def open(self, stored: bytes, about: bytes) -> bytes:
        """The content. Raises Malformed unless it was closed with this key, these bytes and this `about`."""
        if len(stored) < NONCE_BYTES + TAG_BYTES:
            raise Malformed("what is stored is too short")
        try:
            return self._cipher.decrypt(stored[:NONCE_BYTES], stored[NONCE_BYTES:], about)
        except InvalidTag:
            raise Malformed("what is stored is not as it was written, or the key is another") from None
