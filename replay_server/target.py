"""Request targets in their three forms (RFC 9112, section 3.2): origin, absolute, authority."""

from dataclasses import dataclass

from replay_server.normalise import host
from store.core.errors import Malformed

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_PLAIN = {"ws": "http", "wss": "https"}


@dataclass(frozen=True, slots=True)
class Authority:
    """Whom a request is for: scheme, host as compared, port."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Target:
    """A request target: path and query apart, and the authority where the target itself names it."""

    path: bytes
    query: bytes
    authority: Authority | None = None


def parse(raw: bytes) -> Target:
    """An origin-form, absolute-form or asterisk-form target. Raises Malformed."""
    authority = None
    scheme, separator, rest = raw.partition(b"://")
    if separator and scheme.isalnum():
        name = scheme.decode().lower()
        if name not in PORTS:
            raise Malformed(f"a request for a {name[:20]} URL is not HTTP")
        at = min((found for found in (rest.find(mark) for mark in b"/?") if found >= 0), default=len(rest))
        authority = named(rest[:at], _PLAIN.get(name, name))
        raw = rest[at:] if rest[at : at + 1] == b"/" else b"/" + rest[at:]
    path, _, query = raw.partition(b"?")
    return Target(path, query, authority)


def named(raw: bytes, scheme: str) -> Authority:
    """`host:port`, the port left out where it is the scheme's usual one; a user name is ignored. Raises Malformed."""
    text = raw.decode("latin-1").rpartition("@")[2]
    name, separator, port = text.rpartition(":")
    if not separator or not (port.isdecimal() or not port) or (name.count(":") and not name.startswith("[")):
        name, port = text, ""
    if not host(name) or (port and not 0 < int(port[:6]) < 65_536):
        raise Malformed(f"no host and port: {text[:80]!r}")
    return Authority(scheme, host(name), int(port) if port else PORTS[scheme])
