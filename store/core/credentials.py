"""What a client says for itself to a proxy: user name and password of the proxy URL, or a token of its own."""

import base64
import binascii
from collections.abc import Sequence

TOKEN_HEADER = b"x-edgetape-token"

type Pairs = Sequence[tuple[bytes, bytes]]


def credentials(fields: Pairs) -> tuple[str, str]:
    """User name and password of Proxy-Authorization (RFC 7617), both empty when there is none that can be read."""
    scheme, _, encoded = said(fields, b"proxy-authorization").partition(" ")
    try:
        raw = base64.b64decode(encoded.strip(), validate=True) if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return "", ""
    user, _, password = raw.decode("utf-8", "surrogateescape").partition(":")
    return user, password


def token_of(fields: Pairs) -> str:
    """The token that a request brings: the proxy password, or X-Edgetape-Token of a client that knows no proxy."""
    return credentials(fields)[1] or said(fields, TOKEN_HEADER)


def said(fields: Pairs, name: bytes) -> str:
    """The value of the first field of that name (lower case) that has one."""
    found = next((value for known, value in fields if known.lower() == name and value), b"")
    return found.decode("utf-8", "surrogateescape")
