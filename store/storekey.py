"""The store key: 32 random bytes in a file beside the signing key, which open everything that a store holds of bodies.

docs/format.md, section 5.

Rules kept here:
- It lies outside the store's folder, 0600, in a file named for the store's origin (and, but for the first one, for the
  key). No file is ever written over.
- It is made together with its store, or by a rotation; a missing or foreign one is an error, not an occasion for
  another one.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from store import memory, signing
from store.core.aead import KEY_BYTES, NONCE_BYTES, Aead
from store.core.errors import KeyUnavailable, Malformed

SUFFIX = ".storekey"
LOST = "restore it from where you keep it: without it nobody can read the bodies of this store"
_LABEL = b"edgetape/store-key/v1\n"
_WRAPPED = "edgetape/wrapped-key/v1"


@dataclass(frozen=True, slots=True)
class StoreKey:
    """A store key and the file that it is in."""

    key: bytes = field(repr=False)
    file: Path

    @property
    def key_id(self) -> str:
        """What people tell it by: 8 hex digits."""
        return _key_id(self.key)

    def wrap(self, origin: str, run: str, kind: str, content: bytes) -> bytes:
        """A key of a run as the store keeps it; `run` is empty for what shows that this is the store's key."""
        return self._aead.close(content, about(origin, run, kind))

    def unwrap(self, origin: str, run: str, kind: str, wrapped: bytes) -> bytes:
        """Undoes `wrap`. Raises Malformed for what this key did not wrap, or not for that place."""
        return self._aead.open(wrapped, about(origin, run, kind))

    @property
    def _aead(self) -> Aead:
        return Aead(self.key, fresh_nonce)


def make(folder: Path, origin: str, *, first: bool = True) -> StoreKey:
    """A fresh key, in a new file. Raises KeyUnavailable when the folder cannot take it."""
    key = fresh_key()
    label = "" if first else f".{_key_id(key)}"
    path = folder / f"{memory.stem(origin)}{label}{SUFFIX}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        signing.write_new(path, key)
    except OSError as error:
        raise KeyUnavailable(f"no store key can be made in {folder}: {error.strerror}") from error
    return StoreKey(key, path)


def find(folder: Path, origin: str, wrapped: bytes) -> StoreKey:
    """The key that wrapped `wrapped`, which shows the store's own. Raises KeyUnavailable when it is not there."""
    failure = KeyUnavailable(f"the store key of this store is missing from {folder}", hint=LOST)
    for path in _files(folder, origin):
        try:
            found = _read(path)
            found.unwrap(origin, "", "store", wrapped)
        except KeyUnavailable as error:
            failure = error
        except Malformed:
            failure = KeyUnavailable(f"the store key {path} is not the one of this store", hint=LOST)
        else:
            return found
    raise failure


def fresh_key() -> bytes:
    """32 random bytes."""
    return secrets.token_bytes(KEY_BYTES)


def fresh_nonce() -> bytes:
    """12 random bytes: never the same twice under one key, as far as chance goes (NIST SP 800-38D, section 8.2.2)."""
    return secrets.token_bytes(NONCE_BYTES)


def _files(folder: Path, origin: str) -> list[Path]:
    """The files that may hold a key of this store; names are compared, for an origin may be anything."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise KeyUnavailable(f"the folder of keys {folder} cannot be read: {error.strerror}", hint=LOST) from None
    return [folder / name for name in names if name.startswith(f"{memory.stem(origin)}.") and name.endswith(SUFFIX)]


def _read(path: Path) -> StoreKey:
    try:
        key = path.read_bytes()
    except OSError as error:
        raise KeyUnavailable(f"the store key {path} cannot be read: {error.strerror}", hint=LOST) from None
    if len(key) != KEY_BYTES:
        raise KeyUnavailable(f"the store key {path} is damaged: its length is {len(key)}, not {KEY_BYTES}", hint=LOST)
    return StoreKey(key, path)


def _key_id(key: bytes) -> str:
    return hashlib.sha256(_LABEL + key).hexdigest()[:8]


def about(origin: str, run: str, kind: str) -> bytes:
    """What a wrapped key opens together with."""
    return f"{_WRAPPED}\n{origin}\n{run}\n{kind}".encode("utf-8", "surrogateescape")
