"""Bytes that are no canonical record, each with the reason."""

from collections.abc import Mapping

DEPTH_MAX = 16
RECORD_BYTES_MAX = 65_535


def nested(levels: int) -> bytes:
    """Objects inside one another, a number in the innermost one: `levels` levels with it."""
    return b'{"a":' * (levels - 1) + b"1" + b"}" * (levels - 1)


def long(size: int) -> bytes:
    """A record of `size` bytes."""
    return b'{"a":"' + b"x" * (size - 8) + b'"}'


SPELLINGS: Mapping[str, bytes] = {
    "nothing": b"",
    "no object": b"[]",
    "a bare string": b'"a"',
    "white space before": b' {"a":1}',
    "white space after": b'{"a":1}\n',
    "white space inside": b'{"a": 1}',
    "byte order mark": b'\xef\xbb\xbf{"a":1}',
    "two records": b'{"a":1}{"a":1}',
    "unsorted members": b'{"b":1,"a":1}',
    "duplicate member": b'{"a":1,"a":1}',
    "duplicate member, inside": b'{"a":{"b":1,"b":2}}',
    "duplicate member, one spelled with an escape": b'{"a":1,"\\u0061":1}',
    "upper-case member name": b'{"A":1}',
    "member name with a hyphen": b'{"a-b":1}',
    "member name without a character": b'{"":1}',
    "member name outside ASCII": '{"é":1}'.encode(),
    "float": b'{"a":1.5}',
    "float without a fraction": b'{"a":1.0}',
    "exponent": b'{"a":1e2}',
    "minus zero": b'{"a":-0}',
    "plus sign": b'{"a":+1}',
    "leading zero": b'{"a":01}',
    "beyond 2^53-1": b'{"a":9007199254740992}',
    "below -(2^53-1)": b'{"a":-9007199254740992}',
    "four thousand digits": b'{"a":1' + b"0" * 4000 + b"}",
    "hexadecimal": b'{"a":0x10}',
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":Infinity}',
    "lone high surrogate": b'{"a":"\\ud800"}',
    "lone low surrogate": b'{"a":"\\udc00"}',
    "surrogate in UTF-8": b'{"a":"\xed\xa0\x80"}',
    "overlong UTF-8": b'{"a":"\xc0\xaf"}',
    "bytes that are no UTF-8": b'{"a":"\xff"}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "escape where none is needed": b'{"a":"\\u0061"}',
    "escaped slash": b'{"a":"\\/"}',
    "upper-case escape": b'{"a":"\\u000F"}',
    "long escape where a short one exists": b'{"a":"\\u000a"}',
    "escaped surrogate pair": b'{"a":"\\ud83d\\ude00"}',
    "raw control character": b'{"a":"\x01"}',
    "comment": b'{"a":1/**/}',
    "trailing comma": b'{"a":1,}',
    "single quotes": b"{'a':1}",
    "True": b'{"a":True}',
    "depth 17": nested(DEPTH_MAX + 1),
    "depth 2,000": nested(2000),
    "depth 17 in arrays": b'{"a":' + b"[" * DEPTH_MAX + b"]" * DEPTH_MAX + b"}",
    "65,536 bytes": long(RECORD_BYTES_MAX + 1),
}
