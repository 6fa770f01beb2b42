"""What is derived from the salt key of a run: the salts of its commitments, and what hides its openings; pure.

docs/format.md, section 5. Each value is one block of HKDF-Expand with SHA-256 (RFC 5869, section 2.3) under the salt
key, told apart by its label, the seq of the event and the JSON Pointer of the body.

Rules kept here:
- A key hides one opening once: whatever changes an opening changes the key too, so no mask is used for two values.
"""

import hmac
from dataclasses import dataclass, field

from store.core import digest

_SALT = b"edgetape/salt/v1\n"
_KEPT_SALT = b"edgetape/kept-salt/v1\n"
_KEPT_DIGEST = b"edgetape/kept-digest/v1\n"
_SEQS = range(1 << 63)


@dataclass(frozen=True, slots=True)
class Veil:
    """The salt key of one run at work: 32 bytes, every value that it gives too."""

    key: bytes
    _keyed: hmac.HMAC = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Beginning with the key takes longer than all that follows.
        object.__setattr__(self, "_keyed", hmac.new(self.key, digestmod="sha256"))

    def salt(self, seq: int, pointer: str) -> bytes:
        """The salt of a commitment that has none of its own."""
        return self._expanded(_SALT, seq, pointer)

    def kept(self, seq: int, pointer: str, salt: bytes, sha256: bytes) -> tuple[bytes, bytes]:
        """The salt and digest of an opening as they are stored: no salt where it is the derived one."""
        own = b"" if salt == self.salt(seq, pointer) else self._hidden(salt, _KEPT_SALT, seq, pointer)
        return own, self.kept_digest(seq, pointer, sha256)

    def kept_digest(self, seq: int, pointer: str, sha256: bytes) -> bytes:
        """The digest of an opening as it is stored."""
        return self._hidden(sha256, _KEPT_DIGEST, seq, pointer)

    def shown(self, seq: int, pointer: str, salt: bytes, sha256: bytes) -> tuple[bytes, bytes]:
        """Salt and digest from what is stored of them; what has not the right length stays as it is."""
        if seq not in _SEQS:
            return salt, sha256
        own = self._hidden(salt, _KEPT_SALT, seq, pointer) if salt else self.salt(seq, pointer)
        return own, self._hidden(sha256, _KEPT_DIGEST, seq, pointer)

    def _hidden(self, value: bytes, label: bytes, seq: int, pointer: str) -> bytes:
        """The value under its mask, or from under it."""
        if len(value) != digest.HASH_BYTES:
            return value
        mask = self._expanded(label, seq, pointer)
        return (int.from_bytes(value, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(value), "big")

    def _expanded(self, label: bytes, seq: int, pointer: str) -> bytes:
        info = label + seq.to_bytes(8, "big") + pointer.encode("utf-8", "surrogateescape")
        keyed = self._keyed.copy()
        keyed.update(info + b"\x01")
        return keyed.digest()
