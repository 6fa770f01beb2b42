"""The URL of a store that a PostgreSQL server keeps (pure).

Rules kept here:
- A password in it is told apart at once, and no error quotes it: neither does what is kept of the URL.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from store.core.errors import StoreUnusable

_SCHEMES = ("postgresql://", "postgres://")
_SECRET = frozenset(("password", "sslpassword"))
_PORT = 5432
_HINT = "postgresql://USER@HOST:5432/DATABASE; a / or @ in a password is written %2F, %40; docs/postgresql.md"


class BadAddress(StoreUnusable):
    """A URL that names no store."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where a store is: a URL without a password, and the password that was given beside it, if any.

    `way` is the folder of a socket that leads there, where another one is to be taken than the URL says.
    """

    url: str
    password: str = field(default="", repr=False)
    way: str = ""

    @property
    def is_near(self) -> bool:
        """Whether the server is reached by a socket in the file system, without a network."""
        return self.place[0].startswith("/") or not self.place[0]

    @property
    def place(self) -> tuple[str, int, str, str]:
        """What tells one store from another: host (or folder of a socket), port, database, options (a schema)."""
        parts = urlsplit(self.url)
        said = dict(parse_qsl(parts.query))
        host = said.get("host") or unquote(parts.hostname or "")
        port = int(said.get("port") or parts.port or _PORT)
        return host, port, said.get("dbname") or unquote(parts.path[1:]), said.get("options", "")


def is_url(word: str) -> bool:
    """Whether a word that names a store names one on a server."""
    return word.startswith(_SCHEMES)


def parse(url: str) -> Server:
    """What a URL says. Raises BadAddress, which never quotes it."""
    if not is_url(url):
        raise BadAddress("a store is a folder or in PostgreSQL, and this URL is of something else", hint=_HINT)
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        secrets = [parts.password and unquote(parts.password), *(value for name, value in query if name in _SECRET)]
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise BadAddress("the URL of the store cannot be read", hint=_HINT) from None
    if re.search(r"[@/]", parts.path[1:]) or parts.fragment:
        raise BadAddress("the URL of the store names no database", hint=_HINT)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    user = f"{quote(unquote(parts.username), safe='')}@" if parts.username else ""
    left = urlencode([pair for pair in query if pair[0] not in _SECRET], quote_via=quote)
    known = Server(
        f"postgresql://{user}{host}{port}{parts.path}{'?' if left else ''}{left}",
        next((each for each in secrets if each), ""),
    )
    if not known.place[2]:
        raise BadAddress("the URL of the store names no database", hint=_HINT)
    return known
