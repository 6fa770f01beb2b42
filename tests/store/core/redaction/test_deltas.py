"""A secret that comes in pieces leaves its mark once; a stream stored as it comes never holds a part of one."""

import gzip
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.chunks import Chunk
from store.core.redact import Content, Redactor
from store.core.redaction.marks import moved
from store.core.redaction.pieces import recut

KEY = "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
EVENTS = Content(b"text/event-stream")


def stream(said: str, cuts: list[int], index: int = 0) -> bytes:
    """A text as the events of a chat completion, cut at these places."""
    places = sorted({0, *(cut % (len(said) + 1) for cut in cuts), len(said)})
    texts = [said[start:end] for start, end in pairwise(places)]
    events = [{"id": "chatcmpl-1", "choices": [{"index": index, "delta": {"content": text}}]} for text in texts]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def spoken(raw: bytes) -> str:
    """The text of such events."""
    lines = [line[6:] for line in raw.splitlines() if line.startswith(b"data: {")]
    return "".join(json.loads(line)["choices"][0]["delta"]["content"] for line in lines if b"choices" in line)


@given(cuts=st.lists(st.integers(0, 200), max_size=60), before=st.sampled_from(["", "Your key: ", "a\n", "é "]))
def test_a_key_in_any_pieces_becomes_one_mark(cuts: list[int], before: str) -> None:
    redacted = Redactor().body(stream(f"{before}{KEY} is it", cuts), EVENTS)
    assert spoken(redacted.content) == f"{before}<edgetape:anthropic:1> is it"
    assert redacted.marks == (("anthropic", 1),)


@given(cuts=st.lists(st.integers(0, 200), max_size=30))
def test_a_known_secret_in_any_pieces_becomes_one_mark(cuts: list[int]) -> None:
    redacted = Redactor(known=["plain words known"]).body(stream("so plain words known here", cuts), EVENTS)
    assert spoken(redacted.content) == "so <edgetape:environment:1> here"


def test_texts_of_two_strands_are_not_mixed() -> None:
    one, two = stream(KEY, [5, 20]), stream("just words in between", [3, 9, 12], index=1)
    woven = b"\n\n".join(
        event for pair in zip(one.split(b"\n\n"), two.split(b"\n\n"), strict=False) for event in pair if event
    )
    assert KEY not in spoken(Redactor().body(woven + b"\n\n", EVENTS).content)


@given(
    sizes=st.lists(st.integers(1, 90), min_size=1, max_size=80),
    cuts=st.lists(st.integers(0, 200), max_size=30),
    coded=st.booleans(),
)
def test_no_piece_that_is_stored_holds_a_part_of_a_key(sizes: list[int], cuts: list[int], coded: bool) -> None:
    raw = stream(f"Here it is: {KEY} and known-secret-4711 and so on, for a while", cuts)
    raw += b'data: {"password": "hunter2hunter2"}\n\ndata: [DONE]\n\n'
    wire = gzip.compress(raw) if coded else raw
    redactor = Redactor(known=["known-secret-4711"])
    taken = redactor.stream(Content(b"text/event-stream", "gzip" if coded else ""))
    given_out, at = b"", 0
    for size in [*sizes, len(wire)]:
        given_out += taken.feed(wire[at : at + size]).content
        at += size
    whole = redactor.body(wire, Content(b"text/event-stream", "gzip" if coded else ""))
    assert spoken(whole.content).startswith("Here it is: <edgetape:anthropic:1> and <edgetape:environment:1> and so on")
    said = spoken(given_out[: given_out.rfind(b"\n\n") + 2])
    for secret in (KEY, "known-secret-4711", "hunter2"):
        for start in range(len(secret) - 6):
            assert secret[start : start + 7] not in said
            assert secret[start : start + 7].encode() not in given_out
    assert len(whole.content) - len(given_out) < 400  # what still waits


def test_the_chunk_table_speaks_of_what_is_stored() -> None:
    raw = b'{"password": "hunter2hunter2", "n": 1}'
    redacted = Redactor().body(raw)
    chunks = [Chunk(10, 5), Chunk(10, 6), Chunk(3, 7), Chunk(len(raw) - 23, 8)]
    pieces = recut(chunks, raw, "", redacted)
    assert sum(piece.length for piece in pieces) == len(redacted.content)
    assert [piece.wait_us for piece in pieces] == [5, 6, 15]  # of the third piece nothing is left
    assert redacted.content[:10] == raw[:10]
    clean = Redactor().body(b"no secret")
    assert recut(chunks, b"no secret", "", clean) is chunks


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\n"])
def test_each_event_is_given_on_once_it_is_whole(end: bytes) -> None:
    taken = Redactor().stream(Content(b"application/x-ndjson" if end == b"\n" else b"text/event-stream"))
    event = b'data: {"n": 1}' + end
    assert taken.feed(event[:5]).content == b""
    assert taken.feed(event[5:]).content == event
    assert taken.feed(event).content == event


@pytest.mark.parametrize("cuts", [[1], [10, 11, 12], [30], [5, 60]])
def test_the_pieces_of_a_coded_stream_are_found_again(cuts: list[int]) -> None:
    raw = stream(f"Here: {KEY}" + " and more words" * 40, list(range(0, 600, 7)))
    wire = gzip.compress(raw)
    places = [0, *cuts, len(wire)]
    chunks = [Chunk(end - start, 1000) for start, end in pairwise(places)]
    redacted = Redactor().body(wire, Content(b"text/event-stream", "gzip"))
    pieces = recut(chunks, wire, "gzip", redacted)
    assert sum(piece.length for piece in pieces) == len(redacted.content)
    assert sum(piece.wait_us for piece in pieces) == 1000 * len(chunks)


@given(st.data())
def test_places_move_with_what_changes_before_them(data: st.DataObject) -> None:
    content = data.draw(st.binary(max_size=40))
    borders = sorted(data.draw(st.sets(st.integers(0, len(content)), max_size=6)))
    edits = [(start, end, data.draw(st.integers(0, 5))) for start, end in list(pairwise(borders))[::2]]
    new, at = b"", 0
    for start, end, size in edits:
        new += content[at:start] + b"." * size
        at = end
    new += content[at:]
    offsets = list(range(len(content) + 1))
    places = moved(tuple(edits), offsets)
    assert places == sorted(places)
    assert places[-1] == len(new)
    untouched = [at for at in offsets[:-1] if not any(start <= at < end for start, end, _ in edits)]
    assert all(content[at : at + 1] == new[places[at] : places[at] + 1] for at in untouched)
