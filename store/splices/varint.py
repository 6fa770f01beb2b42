"""Unsigned numbers as LEB128, seven bits a byte, lowest first: one spelling for each number, at most 63 bits."""

from store.core.errors import Malformed

BITS_MAX = 63


class Short(Malformed):
    """The bytes end within a number: with more of them it may be whole."""


def put(out: bytearray, number: int) -> None:
    """Appends a number (0 <= number < 2^63)."""
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def take(raw: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where it ends. Raises Short, or Malformed for another spelling."""
    if at < len(raw) and raw[at] < 0x80:  # most are this short
        return raw[at], at + 1
    if at + 1 < len(raw) and 0 < raw[at + 1] < 0x80:  # or this
        return raw[at] & 0x7F | raw[at + 1] << 7, at + 2
    number = shift = 0
    while True:
        if at >= len(raw):
            raise Short("malformed recipe: a number does not end")
        byte = raw[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= BITS_MAX:
            raise Malformed("malformed recipe: a number is too large")
    if not byte and shift:
        raise Malformed("malformed recipe: a number is not spelled in its shortest form")
    return number, at


def folded(number: int) -> int:
    """A signed number as an unsigned one: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return number << 1 if number >= 0 else (-number << 1) - 1


def unfolded(number: int) -> int:
    """The signed number that `folded` made into this one."""
    return -((number + 1) >> 1) if number & 1 else number >> 1
