"""The hashes of the log, each over a label and then one record or fixed-length fields (docs/format.md, section 3)."""

import hashlib
from collections.abc import Iterable

HASH_BYTES = 32
SALT_BYTES = 32

_EVENT = b"edgetape/event/v1\n"
_GENESIS = b"edgetape/genesis/v1\n"
_BODY = b"edgetape/body/v1\n"
# Of more than this at once hashlib gives the interpreter to other threads. It is hashed sooner than it is given back.
_HELD_BYTES = 2047
_QUICK_BYTES_MAX = 16 * 1024
_ANNOTATION = b"edgetape/annotation/v1\n"


def event_hash(event: bytes) -> bytes:
    """The 32 bytes that the next event's `prev` names, from an event's canonical bytes."""
    return hashlib.sha256(_EVENT + event).digest()


def annotation_hash(annotation: bytes) -> bytes:
    """The 32 bytes that the next annotation's `prev` names, from an annotation's canonical bytes."""
    return hashlib.sha256(_ANNOTATION + annotation).digest()


def genesis_prev(origin: str, run: str) -> bytes:
    """What stands as `prev` in event 0: it ties a run to its store."""
    return hashlib.sha256(_GENESIS + origin.encode() + b"\n" + run.encode("utf-8", "surrogateescape")).digest()


def body_digest(body: bytes) -> bytes:
    """SHA-256 of a body as it is stored: what `sha256sum` prints."""
    if len(body) > _QUICK_BYTES_MAX:
        return hashlib.sha256(body).digest()
    return pieces_digest(body[at : at + _HELD_BYTES] for at in range(0, len(body), _HELD_BYTES))


def pieces_digest(pieces: Iterable[bytes]) -> bytes:
    """The same of a body that comes in pieces."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def commitment(salt: bytes, digest: bytes, length: int) -> bytes:
    """What an envelope says of a body: binding, and silent about a short body without its 32-byte salt."""
    if len(salt) != SALT_BYTES or len(digest) != HASH_BYTES:
        raise ValueError("a commitment takes a salt and a digest of 32 bytes each")
    return hashlib.sha256(_BODY + salt + digest + length.to_bytes(8, "big")).digest()
