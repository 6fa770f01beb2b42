"""Base URLs: a port of ours that stands for a server, for clients that no proxy variable reaches.

Such a client can send neither our headers nor a proxy's user name: the beginning of its path may name run and token.

    http://127.0.0.1:9001/~run/NAME:TOKEN/v1/messages    asks the server for /v1/messages, in the run NAME
"""

import re
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import quote, unquote_to_bytes, urlsplit

from store.core.errors import EdgetapeError

PORTS = {"http": 80, "https": 443}

_HINT = "--reverse https://api.openai.com@9001; without @PORT any free one is taken"
_LISTENS = re.compile(r"@(\d{1,5})\Z")
_RUN = re.compile(r"([^=]*)=(?=https?://)", re.IGNORECASE)
_PREFIX = re.compile(rb"/~run/([^/?:]+)(?::([^/?]*))?(?=[/?]|\Z)")


class BadBase(EdgetapeError):
    """What was said of a base URL means none."""


@dataclass(frozen=True, slots=True)
class Base:
    """One server, and the port of ours that stands for it (0: any free one).

    `run` is the run that everything on that port belongs to; empty where requests may say it themselves.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    listens: int = 0
    run: str = ""

    @classmethod
    def parse(cls, text: str) -> "Base":
        """`[RUN=]https://HOST[:PORT][@PORT]`. Raises BadBase."""
        named, listens = _RUN.match(text), _LISTENS.search(text)
        if named is not None:
            text = text[named.end() :]
        url = _LISTENS.sub("", text)
        try:
            parts = urlsplit(url)
            scheme, host, port = parts.scheme.lower(), _ascii(parts.hostname or ""), parts.port
        except ValueError:
            parts, scheme, host, port = urlsplit(""), "", "", None
        if scheme not in PORTS or not host or "@" in parts.netloc or port == 0:
            raise BadBase(f"{text} is no server that a port could stand for", hint=_HINT)
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise BadBase(f"{text} names more than a server: the client appends the path", hint=_HINT)
        at = int(listens[1]) if listens else 0
        if at > 65_535:
            raise BadBase(f"{text}: {at} is no port", hint=_HINT)
        kind: Literal["http", "https"] = "https" if scheme == "https" else "http"
        return cls(kind, host, port or PORTS[kind], at, named[1] if named else "")

    def at(self, port: int) -> "Base":
        """The same at a port that is known."""
        return replace(self, listens=port)

    @property
    def authority(self) -> str:
        """Host and port as a Host field has them (RFC 9110, section 7.2): the usual port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The server's URL, without a slash at its end."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        """As `parse` takes it."""
        run = f"{self.run}=" if self.run else ""
        return f"{run}{self.origin}" + (f"@{self.listens}" if self.listens else "")


@dataclass(frozen=True, slots=True)
class Addressed:
    """A request's path as the server is to get it, and what its beginning said for us."""

    path: bytes
    run: str = ""
    token: str = ""


def addressed(path: bytes) -> Addressed:
    """Takes `/~run/NAME[:TOKEN]` off a path and query."""
    found = _PREFIX.match(path)
    if found is None:
        return Addressed(path)
    run, token = (unquote_to_bytes(part or b"").decode("utf-8", "surrogateescape") for part in found.groups())
    rest = path[found.end() :]
    return Addressed(rest if rest.startswith(b"/") else b"/" + rest, run, token)


def prefix(run: str, token: str = "") -> str:
    """What `addressed` takes off again."""
    return f"/~run/{quote(run, safe='')}" + (f":{quote(token, safe='')}" if token else "")


def _ascii(host: str) -> str:
    """A name as DNS has it (RFC 5891); raises ValueError."""
    return host.rstrip(".") if host.isascii() else host.encode("idna").decode().rstrip(".")
