"""A content coding is undone only where doing it again gives the wire's bytes."""

import gzip
import zlib

import brotli  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from store.core.errors import Malformed
from store.splices import recoding
from store.splices.recoding import Recoder
from store.splices.resolver import Resolver
from store.splices.splicer import Splicer
from tests.store.splices.rows import request, sentence

CONTENT = request([sentence(n, 50) for n in range(20)])


def raw_deflate(content: bytes) -> bytes:
    """What some servers send for `deflate`."""
    stream = zlib.compressobj(6, zlib.DEFLATED, -15)
    return stream.compress(content) + stream.flush()


WIRES = [
    ("gzip", gzip.compress(CONTENT, 6, mtime=0)),
    ("gzip", gzip.compress(CONTENT, 1, mtime=1_700_000_000)),
    ("x-gzip", gzip.compress(CONTENT, 9, mtime=0)),
    ("deflate", zlib.compress(CONTENT)),
    ("deflate", raw_deflate(CONTENT)),
    ("br", brotli.compress(CONTENT, quality=5)),
    ("br", brotli.compress(CONTENT, quality=4, lgwin=18)),
    ("br", brotli.compress(CONTENT, quality=11)),
    ("zstd", zstandard.compress(CONTENT, 3)),
    ("zstd", zstandard.ZstdCompressor(level=6, write_checksum=True).compress(CONTENT)),
]


@pytest.mark.parametrize("coding, wire", WIRES)
def test_what_common_encoders_made_is_stored_undone(coding: str, wire: bytes) -> None:
    undone = Recoder().undo(wire, coding)
    assert undone is not None
    assert undone.content == CONTENT
    assert recoding.redo(undone.content, undone.coding) == wire
    assert recoding.version(undone.coding)


def encoded(coding: str, level: int, content: bytes) -> bytes:
    """`content` as one of the encoders makes it."""
    match coding:
        case "gzip":
            return gzip.compress(content, level)
        case "deflate":
            return zlib.compress(content, level)
        case "br":
            return bytes(brotli.compress(content, quality=level))
    return zstandard.compress(content, level)


@given(st.binary(min_size=1, max_size=2000), st.integers(1, 9), st.sampled_from(["gzip", "deflate", "br", "zstd"]))
def test_what_is_undone_is_always_done_again_exactly(content: bytes, level: int, coding: str) -> None:
    wire = encoded(coding, level, content)
    undone = Recoder().undo(wire, coding)
    if undone is not None:
        assert undone.content == content
        assert recoding.redo(content, undone.coding) == wire


@pytest.mark.parametrize(
    "coding, wire",
    [
        ("", CONTENT),
        ("identity", CONTENT),
        ("gzip, br", brotli.compress(gzip.compress(CONTENT))),
        ("rot13", CONTENT),
        ("gzip", b""),
        ("gzip", CONTENT),
        ("gzip", gzip.compress(CONTENT)[:-20]),
        ("gzip", gzip.compress(CONTENT) + gzip.compress(CONTENT)),
        ("br", b"\x11"),
        ("zstd", b"\x28\xb5\x2f\xfd"),
        ("gzip", gzip.compress(bytes(recoding.content_bytes_max(0) * 20))),
    ],
)
def test_anything_else_stays_as_it_came(coding: str, wire: bytes) -> None:
    assert Recoder().undo(wire, coding) is None


def flushed(content: bytes) -> bytes:
    """A gzip stream with a flush in the middle, as servers send event streams: no one-shot encoder makes it."""
    stream = zlib.compressobj(6, zlib.DEFLATED, 31)
    half = len(content) // 2
    return (
        stream.compress(content[:half])
        + stream.flush(zlib.Z_SYNC_FLUSH)
        + stream.compress(content[half:])
        + stream.flush()
    )


def test_an_encoder_that_nothing_fits_is_soon_left_alone() -> None:
    recoder = Recoder()
    for _ in range(recoding.PATIENCE):
        assert recoder.undo(flushed(CONTENT), "gzip") is None
    assert recoder.undo(gzip.compress(CONTENT, 6), "gzip") is None
    assert recoder.undo(brotli.compress(CONTENT, quality=5), "br") is not None


def test_a_coded_body_comes_back_as_it_was_on_the_wire() -> None:
    coding, wire = WIRES[0]
    undone = Recoder().undo(wire, coding)
    assert undone is not None
    splicer = Splicer()
    splicer.add(CONTENT)
    place = splicer.add(undone.content, coding=undone.coding)
    log = splicer.take()
    assert len(log) < len(CONTENT) + 100
    resolver = Resolver(lambda offset, length: log[offset : offset + length], len(log))
    assert resolver.body(place, len(wire)) == wire
    with pytest.raises(Malformed, match="coded again"):
        resolver.body(place, len(wire) - 1)


@given(st.binary(max_size=30))
def test_a_description_that_is_none_is_malformed(described: bytes) -> None:
    try:
        recoding.redo(b"content", described)
    except Malformed:
        return


@pytest.mark.parametrize("described", [bytes((4, 11, 22, 0)), bytes((5, 22, 1, 0))])
def test_a_description_that_would_take_minutes_is_malformed(described: bytes) -> None:
    with pytest.raises(Malformed, match="too long"):
        recoding.redo(bytes(1 << 21), described)
