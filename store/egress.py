"""The way out to a server: the proxy that the user's URL names, and what keeps a connection from coming about."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, unquote, urlsplit

from store.core.errors import EdgetapeError
from store.core.model import ErrorKind

type Route = Callable[[str, str, int], str | None]
"""The URL of the proxy that a request for (scheme, host, port) must go through, or None for the direct way."""


class UnusableProxy(EdgetapeError):
    """A proxy that the user has set, and that we cannot go through."""


class Unreached(EdgetapeError):
    """A server that no connection, or no answer, came from; `kind` is what an `http.error` says of it."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy on the way out; `authorization` is the field value that it wants, or empty."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    authorization: bytes

    @classmethod
    def parse(cls, url: str) -> "Proxy":
        """Raises UnusableProxy."""
        try:
            parts = urlsplit(url)
            scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
        except ValueError:
            parts, scheme, host, port = urlsplit(""), "", None, None
        if scheme not in ("http", "https") or not host:
            # The URL itself may hold a password.
            raise UnusableProxy(
                f"the proxy that is set is none of http:// or https:// ({scheme or 'no scheme'})",
                hint="set HTTPS_PROXY and HTTP_PROXY to an HTTP proxy, or unset them",
            )
        kind: Literal["http", "https"] = "https" if scheme == "https" else "http"
        return cls(kind, host, port or (443 if kind == "https" else 80), _authorization(parts))


def _authorization(parts: SplitResult) -> bytes:
    if not parts.username:
        return b""
    said = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return b"Basic " + base64.b64encode(said.encode())
