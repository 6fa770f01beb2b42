"""Kinds of damage to what is stored of bodies: to a block, to the log that it holds, to where a body stands."""

import zstandard

from tests.support.verifier.damage import Cell, Damage
from tests.support.verifier.opener import ShutError
from tests.support.verifier.rows import Block

BLOCK = "run, number, start, length, frame, stored"


def _repack(store: Damage, run: Cell, log: bytes) -> None:
    """Keep a log in one block."""
    content = zstandard.ZstdCompressor().compress(log)
    stored = _closed(store, run, Block(0, 0, len(log), 0, b""), content)
    store.sql("DELETE FROM blocks WHERE run = ?", run)
    store.sql(
        "INSERT INTO blocks (run, number, start, length, frame, stored) VALUES (?, 0, 0, ?, 0, ?)",
        run, len(log), stored,
    )  # fmt: skip


def _closed(store: Damage, run: Cell, block: Block, content: bytes) -> bytes:
    """Close a block as the program does, where its key can be had."""
    keys = store.run_keys(run)
    return content if keys is None else keys.stored(block, content)


def _content(store: Damage, run: Cell, *cells: Cell) -> bytes:
    """Open a block; nothing where that cannot be done."""
    *numbers, stored = cells
    keys = store.run_keys(run)
    if keys is None or not isinstance(stored, bytes):
        return b""
    number, start, length, frame = (int(each) for each in numbers)
    try:
        return keys.content(Block(number, start, length, frame, stored))
    except (ShutError, OverflowError):
        return b""


def _unpacked(store: Damage, run: Cell) -> bytes:
    """Give a run's log, or what of it can be unpacked."""
    log, unpacker = b"", zstandard.ZstdDecompressor().decompressobj()
    for cells in store.sql("SELECT number, start, length, frame, stored FROM blocks WHERE run = ? ORDER BY 1", run):
        if cells[0] == cells[3]:
            unpacker = zstandard.ZstdDecompressor().decompressobj()
        log += unpacker.decompress(_content(store, run, *cells))
    return log


def block(store: Damage) -> None:
    """Put other content into a block, as a rule closed as it should be."""
    rowid, run, *cells = store.some("blocks", f"rowid, {BLOCK}")
    number, start, length, frame = (int(each) for each in cells[:4])
    content = _content(store, run, *cells)
    log = _unpacked(store, run)[start : start + length]
    whole, checked = zstandard.compress(log), bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(log))
    checked[-1] ^= 1
    new = store.source.choice([
        b"", b"junk", content + b"junk", content + content, content[:-1], content[:-4], content[:9],
        content[: len(content) // 2], b"\x50\x2a\x4d\x18\x01\0\0\0x" + content, whole, whole + b"junk", whole[:-1],
        zstandard.compress(log, 19), zstandard.compress(log[:-1] + b"~"), zstandard.compress(log + b"x"),
        zstandard.compress(log[1:]), zstandard.compress(bytes(1 << 24)), bytes(checked), bytes(checked) + b"junk",
    ])  # fmt: skip
    stored = _closed(store, run, Block(number, start, length, frame, b""), new)
    store.change("blocks", rowid, stored=stored if store.source.random() < 0.8 else bytes(28) + new)


def piece(store: Damage) -> None:
    """Change some bytes of a run's log, and pack it anew as it should be; or move a place."""
    rowid, run, place = store.some("payloads", "rowid, run, place")
    log, at = bytearray(_unpacked(store, run)), int(place)
    match store.source.randrange(8):
        case 0:
            places = [at + 1, max(0, at - 1), 1 << 40, len(log), *store.some("payloads", "place")]
            store.change("payloads", rowid, place=store.source.choice(places))
            return
        case 1:
            log += store.source.randbytes(5)
        case 2:
            del log[-store.source.randrange(1, 9) :]
        case 3:
            del log[at : at + store.source.randrange(1, 4)]
        case 4:
            log[at:at] = store.source.randbytes(store.source.randrange(1, 12))
        case _:
            for _ in range(store.source.randrange(1, 3)):
                log[min(len(log) - 1, at + store.source.randrange(12))] = store.source.randrange(256)
    _repack(store, run, bytes(log))


def respan(store: Damage) -> None:
    """Give a block other numbers, closed as it should be with them."""
    rowid, run, *cells = store.some("blocks", f"rowid, {BLOCK}")
    new = [int(number) for number in cells[:4]]
    new[store.source.randrange(4)] = store.source.choice([0, 1, 2, 7, 1 << 20, 1 << 22, 1 << 60])
    number, start, length, frame = new
    stored = _closed(store, run, Block(number, start, length, frame, b""), _content(store, run, *cells))
    store.change("blocks", rowid, number=number, start=start, length=length, frame=frame, stored=stored)


def rewrap(store: Damage) -> None:
    """Put the wrapped key of another run, or of another kind, in the place of one."""
    rowid, run, kind = store.some("keys", "rowid, run, kind")
    others = store.sql("SELECT wrapped FROM keys WHERE run <> ? OR kind <> ? ORDER BY run, kind", run, kind)
    if others:
        store.change("keys", rowid, wrapped=store.source.choice(others)[0])
