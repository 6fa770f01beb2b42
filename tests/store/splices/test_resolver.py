"""Whatever the log holds, reading a body ends soon, with the body or with Malformed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.errors import Malformed
from store.splices import recipe
from store.splices.heads import VISITS_MAX
from store.splices.recipe import Copy, Recipe
from store.splices.resolver import Resolver
from store.splices.splicer import Splicer
from tests.store.splices.rows import bodies, request, sentence


class Log:
    """A log as bytes, which counts what is read of it."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.reads = 0

    def read(self, offset: int, length: int) -> bytes:
        """As BlockLog reads."""
        self.reads += 1
        if offset < 0 or length < 0 or offset + length > len(self.raw):
            raise Malformed("outside")
        return self.raw[offset : offset + length]

    def resolver(self, kept_bytes_max: int = 0) -> Resolver:
        """A resolver that has read nothing yet."""
        return Resolver(self.read, len(self.raw), kept_bytes_max)


def spliced(sequence: list[bytes]) -> tuple[Log, list[int]]:
    """A log of bodies, and their places."""
    splicer = Splicer()
    places = [splicer.add(body) for body in sequence]
    return Log(splicer.take()), places


def outcome(log: Log, place: int, length: int) -> bytes | None:
    """The body, or None when it is refused."""
    try:
        return log.resolver().body(place, length)
    except Malformed:
        return None


_talk = [request([sentence(n, 40) for n in range(turns)]) for turns in range(1, 9)]


@given(st.data())
def test_a_damaged_log_gives_malformed_or_as_many_bytes_as_are_known(data: st.DataObject) -> None:
    log, places = spliced(_talk)
    raw = bytearray(log.raw)
    for at, value in data.draw(st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=5)):
        raw[at] = value
    for place, body in zip(places, _talk, strict=True):
        read = outcome(Log(bytes(raw)), place, len(body))
        assert read is None or len(read) == len(body)


@given(st.binary(max_size=200), st.integers(-5, 250), st.integers(0, 1 << 40))
def test_no_log_makes_reading_raise_anything_else(raw: bytes, place: int, length: int) -> None:
    read = outcome(Log(raw), place, length)
    assert read is None or len(read) == length


@given(bodies)
def test_reading_all_in_order_gives_what_reading_each_alone_does(sequence: list[bytes]) -> None:
    log, places = spliced(sequence)
    together = log.resolver(kept_bytes_max=1 << 16)
    for place, body in zip(places, sequence, strict=True):
        assert together.body(place, len(body)) == body


def test_a_flipped_byte_of_any_recipe_is_refused_or_gives_other_bytes_of_the_same_length() -> None:
    log, places = spliced(_talk[:3])
    for at in range(len(log.raw)):
        raw = bytearray(log.raw)
        raw[at] ^= 0x15
        for place, body in zip(places, _talk, strict=False):
            read = outcome(Log(bytes(raw)), place, len(body))
            assert read is None or len(read) == len(body)


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(Recipe(99, (Copy(0, 0, 10),), 0), id="a base before the log"),
        pytest.param(Recipe(13, (Copy(0, 0, 10),), 0), id="a base a byte before the log"),
        pytest.param(Recipe(12, (Copy(0, 5, 10),), 0), id="a copy behind the end of its base"),
        pytest.param(Recipe(0, (), 10), id="literals behind the end of the log"),
    ],
)
def test_a_recipe_that_reaches_too_far_is_refused(second: Recipe) -> None:
    first = recipe.encode(Recipe(0, (), 10)) + b"0123456789"
    assert len(first) == 12
    for kept_bytes_max in (0, 1000):
        resolver = Log(first + recipe.encode(second)).resolver(kept_bytes_max)
        assert resolver.body(0, 10) == b"0123456789"
        with pytest.raises(Malformed):
            resolver.body(len(first), 10)


def test_another_length_than_is_known_is_refused() -> None:
    log, places = spliced([b"0123456789"])
    for length in (0, 9, 11):
        with pytest.raises(Malformed, match="a length of 10 where"):
            log.resolver().body(places[0], length)


def test_a_recipe_that_doubles_its_base_over_and_over_ends_at_the_bound() -> None:
    raw = recipe.encode(Recipe(0, (), 1)) + b"x"
    place, length = 0, 1
    while length < 1 << 24:
        written = recipe.encode(Recipe(len(raw) - place, (Copy(0, 0, length), Copy(0, 0, length)), 0))
        place, length = len(raw), length * 2
        raw += written
    log = Log(raw)
    with pytest.raises(Malformed, match="too many parts"):
        log.resolver().body(place, length)
    assert log.reads <= VISITS_MAX + 100


def test_a_chain_of_a_hundred_thousand_bases_is_followed_without_recursion() -> None:
    raw = bytearray(recipe.encode(Recipe(0, (), 3)) + b"abc")
    place = 0
    for _ in range(100_000):
        written = recipe.encode(Recipe(len(raw) - place, (Copy(0, 0, 3),), 0))
        place = len(raw)
        raw += written
    log = Log(bytes(raw))
    assert log.resolver().body(place, 3) == b"abc"
    with pytest.raises(Malformed, match="too many bases"):
        log.resolver().head(place)


def test_a_base_is_never_put_together_to_read_a_little_of_it() -> None:
    huge = recipe.encode(Recipe(0, (), 1 << 20)) + bytes(1 << 20)
    log = Log(huge + recipe.encode(Recipe(len(huge), (Copy(0, 4096, 8),), 0)))
    sizes = []

    def read(offset: int, length: int) -> bytes:
        sizes.append(length)
        return log.read(offset, length)

    assert Resolver(read, len(log.raw)).body(len(huge), 8) == bytes(8)
    assert max(sizes) <= 64
