"""What two bodies share is found, and the copies give the new one exactly."""

from hypothesis import given
from hypothesis import strategies as st

from store.splices.difference import COPY_BYTES_MIN, Body, common_prefix, common_suffix, copies
from store.splices.recipe import Copy
from tests.store.splices.rows import bodies, request, sentence


def shared(new: bytes, base: bytes) -> tuple[tuple[Copy, ...], int]:
    """The copies of `new` from `base`."""
    return copies(Body(new), Body(base), common_prefix(new, 0, base, 0, min(len(new), len(base))))


def rebuilt(new: bytes, base: bytes) -> tuple[bytes, int]:
    """`new` as its copies give it, and how many of its bytes are literal."""
    found, tail = shared(new, base)
    out, at, literal = b"", 0, tail
    for copy in found:
        assert copy.length >= COPY_BYTES_MIN
        out += new[at : at + copy.literal] + base[copy.start : copy.start + copy.length]
        at += copy.literal + copy.length
        literal += copy.literal
    return out + new[len(new) - tail :], literal


@given(st.binary(max_size=3000), st.integers(0, 3000), st.binary(max_size=10), st.binary(max_size=10))
def test_prefix_and_suffix_are_as_long_as_a_byte_by_byte_look_says(
    one: bytes, at: int, tail: bytes, other_tail: bytes
) -> None:
    left, right = one[:at] + tail, one[:at] + other_tail
    limit = min(len(left), len(right))
    same = next((n for n in range(limit) if left[n] != right[n]), limit)
    assert common_prefix(left, 0, right, 0, limit) == same
    left, right = left[::-1], right[::-1]
    assert common_suffix(left, len(left), right, len(right), limit) == same


def test_long_bodies_are_compared_to_the_byte() -> None:
    base = sentence(1, 60_000).encode()
    for at in (0, 1, 255, 256, 65_535, 65_536, 300_000, len(base) - 1):
        other = base[:at] + bytes((base[at] ^ 1,)) + base[at + 1 :]
        assert common_prefix(base, 0, other, 0, len(base)) == at
        assert common_suffix(base, len(base), other, len(base), len(base)) == len(base) - at - 1


@given(bodies)
def test_copies_give_the_new_body_exactly(sequence: list[bytes]) -> None:
    for base in sequence:
        for new in sequence:
            assert rebuilt(new, base)[0] == new


def test_a_turn_more_is_the_only_literal() -> None:
    messages = [sentence(n, 80) for n in range(30)]
    new, base = request(messages), request(messages[:-1])
    body, literal = rebuilt(new, base)
    assert body == new
    assert literal < len(messages[-1]) + 100


def test_a_clock_at_the_front_costs_no_more_than_itself() -> None:
    messages = [sentence(n, 80) for n in range(30)]
    for before, now in (("10:00:00", "10:00:59"), ("9:59", "10:00:01 in the morning")):
        new, base = request(messages, f"It is {now}."), request(messages, f"It is {before}.")
        body, literal = rebuilt(new, base)
        assert body == new
        assert literal < COPY_BYTES_MIN + 100


def test_a_changed_place_is_passed_without_anchors() -> None:
    text = sentence(3, 900).encode()
    new, base = b"9:59 " + text[:2000] + b"one" + text[2000:], b"10:01 " + text[:2000] + b"two" + text[2000:]
    assert rebuilt(new, base) == (new, len("9:59one"))


def test_what_was_taken_out_of_the_middle_costs_nothing() -> None:
    messages = [sentence(n, 80) for n in range(30)]
    body, literal = rebuilt(request(messages[:10] + messages[20:]), request(messages))
    assert body == request(messages[:10] + messages[20:])
    assert literal < 100


def test_a_part_that_moved_is_found() -> None:
    messages = [sentence(n, 80) for n in range(30)]
    moved = messages[16:] + messages[:16]
    body, literal = rebuilt(request(moved), request(messages))
    assert body == request(moved)
    assert literal < len(request(moved)) / 4
