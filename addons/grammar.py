"""Hosts and lengths that HTTP allows and mitmproxy refuses or spells anew: what takes the place of its own reading.

- A host stays as the agent named it. mitmproxy turns `xn--` labels into letters by an old table (RFC 3490), which some
  names of today (RFC 5891) do not come back from: those were refused, and the others recorded under another name.
- A length may have zeros in front (RFC 9110, section 8.6).
"""

import ipaddress
import re

_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[A-Za-z0-9_-]{1,63}")  # the underscore is in no host name by the book, and in many by use
_LENGTH = re.compile(r"[0-9]+")
NAME_BYTES_MAX = 255  # RFC 1035, section 2.3.4


def is_valid_host(host: str | bytes) -> bool:
    """Whether this is a name that can be looked up, in letters or in `xn--` labels, or an address."""
    name = host.decode("utf-8", "replace") if isinstance(host, bytes) else host
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return _is_name(name)
    return True


def parse_authority(authority: str | bytes, check: bool) -> tuple[str, int | None]:
    """Host, without brackets, and port. What is none raises ValueError with `check`, and is the host without it."""
    try:
        text = authority.decode() if isinstance(authority, bytes) else authority
        found = _AUTHORITY.fullmatch(text)
        if found is None:
            raise ValueError(text)
        host, port = found["host"].strip("[]"), found["port"]
        if not is_valid_host(host) or (port and int(port) > 65_535):
            raise ValueError(text)
    except ValueError:
        if check:
            raise
        return (authority.decode("utf-8", "surrogateescape") if isinstance(authority, bytes) else authority), None
    return host, int(port) if port else None


def parse_content_length(value: str | bytes) -> int:
    """The number of a Content-Length; ValueError where it is none."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if not _LENGTH.fullmatch(text) or not text.isascii():
        raise ValueError(f"invalid content-length header: {value!r}")
    return int(text)


def _is_name(name: str) -> bool:
    try:
        plain = name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return False
    labels = plain.removesuffix(".").split(".")
    return len(plain) <= NAME_BYTES_MAX and all(_LABEL.fullmatch(label) for label in labels)
