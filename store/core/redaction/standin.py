"""Stand-ins: what is served in the place of a secret that was not kept, the same in every replay of a run.

Rules kept here:
- A stand-in is derived from run, class and number, and from nothing else; nobody could be let in by it.
- It has the beginning and the letters that its class is known for, so that clients which look at a key take it.
"""

import base64
import hashlib
import json
import string

from store.core.redaction.shapes import SHAPES

_LABEL = b"edgetape/stand-in/v1\n"
_ALPHABET = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_LENGTH = 40

# Classes whose tokens are not a beginning and some letters: beginning, alphabet, how many.
_SPECIAL = {
    "aws": ("AKIA", _BASE32, 16),
    "digitalocean": ("dop_v1_", _HEX, 64),
    "databricks": ("dapi", _HEX, 32),
    "mailgun": ("key-", _HEX, 32),
    "twilio": ("SK", _HEX, 32),
    "anthropic": ("sk-ant-api03-", _ALPHABET, 95),
    "openai": ("sk-proj-", _ALPHABET, 64),
    "github": ("ghp_", _ALPHABET, 36),
    "google": ("AIzaSy", _ALPHABET, 33),
    "telegram": ("", string.digits, 10),
    "private-key": ("", _ALPHABET, 64),
}
_BEGINNINGS = {shape.kind: shape.heads.split()[0] for shape in reversed(SHAPES)}


def stand_in(run: str, kind: str, number: int) -> bytes:
    """What stands for the secret with this number of its class; letters, digits, `-`, `_` and `.` only."""
    seed = hashlib.sha256(_LABEL + f"{run}\n{kind}\n{number}".encode()).digest()
    if kind == "jwt":
        return _token(seed)
    begin, alphabet, length = _SPECIAL.get(kind, (_BEGINNINGS.get(kind, ""), _ALPHABET, _LENGTH))
    drawn = _drawn(seed, alphabet, length)
    if kind == "telegram":
        drawn += ":AA" + _drawn(seed + b"\n", _ALPHABET, 33)
    return (begin + drawn).encode()


def _token(seed: bytes) -> bytes:
    """A JSON Web Token (RFC 7519) that can be read, never ends, and is signed by nobody."""
    subject = _drawn(seed, _HEX, 16)
    parts = ({"alg": "RS256", "typ": "JWT"}, {"iss": "edgetape", "sub": subject, "iat": 1577836800, "exp": 4102444800})
    spelled = [
        base64.urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).rstrip(b"=") for part in parts
    ]
    return b".".join([*spelled, _drawn(seed + b"\n", _ALPHABET, 43).encode()])


def _drawn(seed: bytes, alphabet: str, length: int) -> str:
    """Letters that look drawn; two of them are digits, as no name has them."""
    number = int.from_bytes(b"".join(hashlib.sha256(seed + bytes([at])).digest() for at in range(length // 32 + 1)))
    letters = []
    for _ in range(length):
        number, at = divmod(number, len(alphabet))
        letters.append(alphabet[at])
    return "".join(letters)
