"""Whether a value looks like something drawn at random, as keys and tokens are, or like something that people write."""

import math
import re
from collections import Counter

LEARNED_BYTES_MIN = 8
LEARNED_BYTES_MAX = 16 * 1024

_UUID = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_TOKEN = re.compile(rb"[A-Za-z0-9_\-.+/=~:%!@#$^*|]+")
_BETWEEN = re.compile(rb"[-_./:=+~%|,]+")
_PLACEHOLDER = re.compile(
    rb"(?:your|my|the|some|test|fake|dummy|example|sample|insert|replace|change)[-_ ]?.*|x{4,}|\*+|\.{3,}"
    rb"|<.*>|\{.*\}|\$.*|%.*%|null|none|true|false|undefined|redacted|password\d?|secret|string|disabled|enabled",
    re.IGNORECASE,
)
_CODE = re.compile(rb"[(){}\[\]<>$`;\\]|^(?:os|process|self|env|config|settings|this|args|options)\.")


def entropy(value: bytes) -> float:
    """Bits a byte, by how often each byte occurs (Shannon)."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0


def is_uuid(value: bytes) -> bool:
    """Whether a value is a UUID with its dashes: those number things, and give nothing away."""
    return _UUID.fullmatch(value) is not None


def is_random(value: bytes, least: int = 16, bits: float = 3.0) -> bool:
    """Whether a value of at least so many bytes was hardly written by a person: no UUID, date, path or model name."""
    if not least <= len(value) <= LEARNED_BYTES_MAX or not _TOKEN.fullmatch(value) or is_uuid(value):
        return False
    return any(map(_is_mixed, _BETWEEN.split(value))) and entropy(value[:256]) >= bits


def is_learnable(value: bytes) -> bool:
    """Whether a value that was secret by its place can be looked for elsewhere without hitting common words."""
    if not LEARNED_BYTES_MIN <= len(value) <= LEARNED_BYTES_MAX or _PLACEHOLDER.fullmatch(value):
        return False
    if value.isdigit():
        return len(value) >= 16
    return len(value) >= 16 or any(byte in b"0123456789" for byte in value)


def is_key(value: bytes, *, quoted: bool) -> bool:
    """Whether a literal behind the name of a credential can be one: in quotes any that is no common word, else a long
    one with digits that is no path.
    """
    if quoted:
        return is_learnable(value) and b" " not in value
    digits = any(byte in b"0123456789" for byte in value)
    path = value.startswith((b"/", b"./", b"~", b"..")) or b"://" in value
    return len(value) >= 20 and digits and not path and bool(_TOKEN.fullmatch(value)) and entropy(value) >= 3.8


def is_code(value: bytes) -> bool:
    """Whether what is assigned to a name is an expression or a placeholder, and no literal."""
    return bool(_CODE.search(value) or _PLACEHOLDER.fullmatch(value))


def _is_mixed(part: bytes) -> bool:
    """A stretch with digits among its letters, long enough to be no ordinal, version or unit."""
    digits = sum(byte in b"0123456789" for byte in part)
    return len(part) >= 8 and digits >= 2 and len(part) - digits >= 2
