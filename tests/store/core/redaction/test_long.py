"""A body that is not held is redacted as one that is: the same bytes, marks and places."""

import gzip
import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.chunks import Chunk
from store.core.redact import Content, Long, Redacted, Redactor, drained
from store.core.redaction.pieces import recut

KEY = b"sk-proj-" + b"A1b2C3d4E5f6G7h8" * 3
JSON = b'{"note": "a", "api_key": "%s", "list": [1, 2], "password": "Tr0ub4dor-and-3", "again": "%s"}' % (KEY, KEY)
EVENTS = b'data: {"text": "no secret"}\n\nevent: x\ndata: {"key": "%s"}\n\n' % KEY
PARTS = [b"x" * 300, b" " * 77, JSON, KEY, b"\xff\xfe", b"\n"]


class Kept:
    """Where what was changed waits."""

    def __init__(self) -> None:
        self.held: list[bytes] = []

    def add(self, piece: bytes) -> None:
        self.held.append(piece)

    def pieces(self) -> list[bytes]:
        return self.held


def long(raw: bytes, about: Content, cut: int = 1000) -> tuple[Redacted | Long, bytes]:
    """What becomes of a body that is read in pieces of `cut` bytes."""
    pieces = [raw[at : at + cut] for at in range(0, len(raw), cut)]
    found = drained(Redactor().long_steps(lambda: pieces, len(raw), about, Kept))
    return found, b"".join(found.pieces()) if isinstance(found, Long) else found.content


@pytest.mark.parametrize("coding", ["", "gzip"])
@pytest.mark.parametrize("kind", [b"application/json", b"text/event-stream", b"application/octet-stream"])
@pytest.mark.parametrize("cut", [333, 1 << 20])
def test_the_same_goes_and_the_same_stays(kind: bytes, coding: str, cut: int) -> None:
    filling = b"".join(b'{"line": %d}\n' % number for number in range(5000))
    raw = filling + (EVENTS if b"event" in kind else JSON) + b"\n" + filling
    wire, about = gzip.compress(raw, mtime=0) if coding else raw, Content(kind, coding)
    short, (found, content) = Redactor().body(wire, about), long(wire, about, cut)
    assert isinstance(found, Long)
    assert KEY not in content
    assert (content, len(found), found.marks) == (short.content, len(short.content), short.marks)
    assert (found.decoded, found.edits, found.wire_bytes) == (bool(coding), short.edits, len(wire))
    chunks = [Chunk(len(piece), 7) for piece in itertools.batched(wire, 5000)]
    assert list(recut(chunks, [wire], coding, found)) == list(recut(chunks, wire, coding, short))


@given(st.lists(st.sampled_from(PARTS), max_size=8), st.integers(60, 700))
def test_wherever_it_is_cut_no_secret_stays(parts: list[bytes], cut: int) -> None:
    raw = b"; ".join(parts)
    found, content = long(raw, Content(b"application/json"), cut)
    assert KEY not in content
    assert found.exact is (content == raw)


def test_what_a_secret_gives_away_late_is_taken_out_early_too() -> None:
    raw = b'{"seen": "Zq7-violet-otter-91"}' + b" " * 400_000 + b'{"password": "Zq7-violet-otter-91"}'
    _, content = long(raw, Content(b"application/json"))
    assert b"violet" not in content
    assert content.count(b"<edgetape:") == 2


def test_what_holds_no_secret_stays_as_it_crossed_the_wire() -> None:
    raw = gzip.compress(bytes(range(256)) * 4000, mtime=0)
    for about in (Content(b"application/json", "gzip"), Content(b"image/png"), Content(b"application/grpc")):
        assert long(raw, about)[1] == raw


@pytest.mark.parametrize(
    "raw, about",
    [
        (JSON * 10, Content(b"application/grpc")),  # lengths stand within it
        (b"{}" * 5000, Content(b"application/json", endpoint="oauth")),
        (b"\x01\x02\xff" * 5000, Content(b"application/json", "gzip")),  # cannot be read
        (b"\x01\x02\xff" * 5000, Content(b"text/plain", "unheard-of")),
    ],
)
def test_what_cannot_be_judged_in_pieces_is_withheld_whole(raw: bytes, about: Content) -> None:
    found, content = long(raw, about)
    assert (content, found.marks) == (b"<edgetape:withheld:1>", (("withheld", 1),))
    assert found.wire_bytes == len(raw)


def test_a_text_that_only_claims_to_be_coded_is_read_as_it_is() -> None:
    _, content = long(JSON * 100, Content(b"application/json", "gzip"))
    assert KEY not in content
    assert content.startswith(b'{"note": "a", "api_key": "<edgetape:')


def test_another_body_may_bring_a_secret_meanwhile() -> None:
    redactor, word = Redactor(), b"Mn4-silver-heron-58-xyzzy"

    def pieces() -> Iterator[bytes]:
        yield b"begins with " + word + b" " * 100_000
        redactor.body(b'{"password": "%s"}' % word, Content(b"application/json"))
        yield b"goes on"

    size = sum(map(len, pieces()))
    fresh = Redactor()
    redactor = fresh
    found = drained(fresh.long_steps(pieces, size, Content(b"text/plain"), Kept))
    assert isinstance(found, Long)
    assert word not in b"".join(found.pieces())
