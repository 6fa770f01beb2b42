"""Events in blocks: they come back byte by byte, alone and together, and damage spoils no more than it must."""

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.digest import event_hash
from store.core.errors import Malformed
from store.sealed import envelopes, frame
from store.sealed.envelopes import EventBlock

BODIES = st.lists(st.text(max_size=60), min_size=1, max_size=12)


def chain(bodies: list[str]) -> list[tuple[bytes, bytes]]:
    """Events that follow one another, each with its hash."""
    made: list[tuple[bytes, bytes]] = []
    for seq, body in enumerate(bodies):
        prev = made[-1][0].hex() if made else hashlib.sha256(b"genesis").hexdigest()
        record = {"seq": seq, "prev": prev, "said": body, "commitment": hashlib.sha256(body.encode()).hexdigest()}
        raw = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        made.append((event_hash(raw), raw))
    return made


@given(BODIES, st.integers(0, 1000))
def test_events_come_back(bodies: list[str], first: int) -> None:
    kept = chain(bodies)
    block = envelopes.pack("run", first, kept)
    assert [(each.seq, each.hash, each.raw, each.damage) for each in envelopes.restored(block)] == [
        (first + at, hashed, raw, "") for at, (hashed, raw) in enumerate(kept)
    ]
    assert [envelopes.event(block, first + at) for at in range(len(kept))] == [raw for _, raw in kept]


@given(st.lists(st.tuples(st.binary(max_size=80), st.binary(min_size=32, max_size=32)), min_size=1, max_size=6))
def test_whatever_has_no_control_characters_comes_back_or_is_refused(rows: list[tuple[bytes, bytes]]) -> None:
    kept = [(hashed, raw) for raw, hashed in rows]
    try:
        block = envelopes.pack("run", 0, kept)
    except Malformed:
        return
    assert [(each.hash, each.raw) for each in envelopes.restored(block)] == kept


def test_no_link_and_no_digits_are_stored_twice() -> None:
    kept = chain([f"{number}" for number in range(200)])
    block = envelopes.pack("run", 0, kept)
    assert len(block.digits) == 32 * 201  # the commitments, and the first prev
    assert len(block.text) < 12 * 200


@pytest.mark.parametrize("at", [0, 1, 4])
def test_one_changed_event_spoils_no_other(at: int) -> None:
    """Whoever packs it anew as it should be changes that one alone."""
    kept = chain(list("abcde"))
    changed = [*kept]
    changed[at] = (kept[at][0], kept[at][1].replace(b'"said":"', b'"said":"not '))
    found = envelopes.restored(envelopes.pack("run", 0, changed))
    assert [each.seq for each in found if event_hash(each.raw) != each.hash] == [at]


@pytest.mark.parametrize("at", [0, 1, 4])
def test_one_changed_hash_spoils_no_event(at: int) -> None:
    kept = chain(list("abcde"))
    block = envelopes.pack("run", 0, kept)
    hashes = bytearray(block.hashes)
    hashes[at * 32] ^= 1
    found = envelopes.restored(replace(block, hashes=bytes(hashes)))
    assert [each.raw for each in found] == [raw for _, raw in kept]
    assert [each.seq for each in found if event_hash(each.raw) != each.hash] == [at]


def packed(block: EventBlock, content: bytes) -> EventBlock:
    return replace(block, text=frame.pack(content, block._place))


def test_what_stands_beside_the_events_is_damage() -> None:
    kept = chain(list("abc"))
    block = envelopes.pack("run", 0, kept)
    content, _ = frame.unpack(block.text, block._place)
    others = [
        packed(block, content + b"more\n"),
        packed(block, content + b"more"),
        packed(block, content[:-1]),
        replace(block, digits=block.digits + b"more"),
        replace(block, hashes=block.hashes + b"more"),
        replace(block, text=b"~" + block.text[1:]),
        replace(block, run="another"),
    ]
    for other in others:
        found = envelopes.restored(other)
        assert [each.raw for each in found] == [raw for _, raw in kept]
        assert [bool(each.damage) for each in found] == [True, False, False]


def test_what_cannot_be_unpacked_leaves_events_of_no_bytes() -> None:
    block = envelopes.pack("run", 7, chain(list("abc")))
    found = envelopes.restored(replace(block, text=block.text[:-1]))
    assert [(each.seq, each.raw) for each in found] == [(7, b""), (8, b""), (9, b"")]
    assert envelopes.event(replace(block, text=b""), 8) == b""


def test_a_block_without_an_event_is_damaged() -> None:
    (found,) = envelopes.restored(EventBlock("run", 3, b"", b"", b""))
    assert (found.seq, found.raw) == (3, b"")
    assert found.damage


def test_a_block_takes_what_is_read_in_bounded_time() -> None:
    assert envelopes.fitting([100] * 1000) == envelopes.EVENTS_MAX
    assert envelopes.fitting([60_000] * 1000) == envelopes.TEXT_BYTES_MAX // 60_000
    assert envelopes.fitting([envelopes.TEXT_BYTES_MAX + 1] * 3) == 1
    assert envelopes.fitting([]) == 0
