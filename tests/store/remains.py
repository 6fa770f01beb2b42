"""What can still be read out of the files of a store with every key that is left of it: the erasure test's search.

docs/format.md, section 5. Keys are tried at every byte of every file, not only where something is said to stand: the
key stream of AES-GCM (NIST SP 800-38D) needs nothing but the nonce that stands before what it hides.
"""

import sqlite3
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import zstandard
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR, ECB

from store import payloads, storekey, vault
from store.core.errors import Malformed
from store.database import FILE_NAME
from store.storekey import StoreKey
from store.vault import RunKeys, opened

MAGIC = zstandard.MAGIC_NUMBER.to_bytes(4, "little")
NONCE_BYTES = 12
REACH_BYTES = 200_000


def files(folder: Path) -> Iterator[bytes]:
    """The bytes of every file of a store: database, write-ahead log, its index, leases."""
    return (path.read_bytes() for path in folder.rglob("*") if path.is_file())


def run_keys(folder: Path, keys: Path, origin: str) -> list[RunKeys]:
    """The keys of all runs, by their rows."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        store_key = storekey.find(keys, origin, vault.wrapped(connection, "")["store"])
        runs = sorted(vault.runs(connection))
        return [opened(store_key, origin, run, vault.wrapped(connection, run)) for run in runs]


def wrapped_keys(folder: Path, store_key: StoreKey, origin: str, runs: list[str]) -> set[bytes]:
    """Every key of these runs that stands wrapped anywhere in the files: what the store key gives whoever has it."""
    found: set[bytes] = set()
    size = len(store_key.wrap(origin, "", "", bytes(32)))
    for raw in files(folder):
        for at in range(len(raw) - size + 1):
            for run in runs:
                for kind in (vault.PAYLOAD, vault.SALT):
                    found |= _unwrapped(store_key, origin, run, kind, raw[at : at + size])
    return found


def contents(folder: Path, left: list[bytes], live: list[RunKeys]) -> Iterator[bytes]:
    """Everything that can be read: files as they are, frames in them, what each key that is left shows at each byte,
    and the logs that the blocks hold.
    """
    for raw in files(folder):
        yield raw
        yield from _frames(raw)
        for key in left:
            yield from _hidden(raw, key)
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        for keys in live:
            spans = payloads.spans(connection, keys.run)
            stored = payloads.fetching(connection, keys.run)(0, spans[-1].number) if spans else []
            unpacker = zstandard.ZstdDecompressor().decompressobj()
            for span, block in zip(spans, stored, strict=True):
                if span.number == span.frame:
                    unpacker = zstandard.ZstdDecompressor().decompressobj()
                yield unpacker.decompress(keys.guard.open(span, block))
            query = "SELECT req, part, number, piece FROM pending WHERE run = ?"
            for req, part, number, piece in connection.execute(query, (keys.run,)):
                about = f"edgetape/pending/v1\n{keys.origin}\n{keys.run}\n{req}\n{part}\n{number}".encode()
                yield keys.pieces.open(piece, about)


def spellings(word: bytes) -> list[bytes]:
    """As it is, in hex, and in base64 at each of the three places a byte can have there."""
    return [word, word.hex().encode(), *(b64encode(b"x" * shift + word)[4:-4] for shift in range(3))]


def _frames(raw: bytes) -> Iterator[bytes]:
    at = raw.find(MAGIC)
    while at >= 0:
        yield _unpacked(raw[at : at + REACH_BYTES])
        at = raw.find(MAGIC, at + 1)


def _hidden(raw: bytes, key: bytes) -> Iterator[bytes]:
    """What stands behind a nonce, be it a frame or a piece of text: wherever the key stream gives either."""
    places = len(raw) - NONCE_BYTES - 16
    if places <= 0:
        return
    counters = b"".join(raw[at : at + NONCE_BYTES] + b"\0\0\0\2" for at in range(places))
    streams = Cipher(AES(key), ECB()).encryptor().update(counters)  # the key stream itself is wanted
    for at in range(places):
        stream, hidden = streams[16 * at : 16 * at + 16], raw[at + NONCE_BYTES : at + NONCE_BYTES + 16]
        shown = (int.from_bytes(stream) ^ int.from_bytes(hidden)).to_bytes(16)
        if shown.startswith(MAGIC) or shown.isascii():
            decryptor = Cipher(AES(key), CTR(raw[at : at + NONCE_BYTES] + b"\0\0\0\2")).decryptor()
            content = decryptor.update(raw[at + NONCE_BYTES : at + REACH_BYTES])
            yield content
            if shown.startswith(MAGIC):
                yield _unpacked(content)


def _unpacked(raw: bytes) -> bytes:
    """What can be unpacked of a frame, whatever stands behind it."""
    unpacker, content = zstandard.ZstdDecompressor().decompressobj(), b""
    try:
        for at in range(0, len(raw), 64):
            content += unpacker.decompress(raw[at : at + 64])
    except zstandard.ZstdError:
        pass
    return content


def _unwrapped(store_key: StoreKey, origin: str, run: str, kind: str, raw: bytes) -> set[bytes]:
    try:
        return {store_key.unwrap(origin, run, kind, raw)}
    except Malformed:
        return set()
