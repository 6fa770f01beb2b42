"""Places that are passed through unopened, as their owner wrote them down. Pure.

`api.example`, `*.example`, `api.example:8443`, `[::1]:443`: a `*` stands for any letters; without a port all ports.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from store.core.errors import EdgetapeError

_PLACE = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.%*]+)\]|(?P<host>[^\s:/\[\]@?#]+))(?::(?P<port>[0-9]{1,5}))?")


class NoPlace(EdgetapeError):
    """A text that names no host."""


@dataclass(frozen=True, slots=True)
class Places:
    """Patterns of hosts, each with its port or None."""

    patterns: tuple[tuple[re.Pattern[str], int | None], ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Places":
        """Raises NoPlace."""
        return cls(tuple(_pattern(text) for text in texts))

    def have(self, host: str, port: int) -> bool:
        """Whether a host and port are among them."""
        name = _plain(host)
        return any(pattern.fullmatch(name) and said in (None, port) for pattern, said in self.patterns)


def _pattern(text: str) -> tuple[re.Pattern[str], int | None]:
    found = _PLACE.fullmatch(text)
    if found is None or (found["port"] and int(found["port"]) > 65_535):
        raise NoPlace(
            f"{text!r} names no host" if text else "an empty text names no host",
            hint="write api.example.com, *.example.com or api.example.com:8443",
        )
    host = _plain(found["address"] or found["host"])
    port = int(found["port"]) if found["port"] else None
    return re.compile(".*".join(map(re.escape, host.split("*")))), port


def _plain(host: str) -> str:
    """As hosts are compared: lower case, in `xn--` labels, without brackets and the root's dot."""
    name = host.strip("[]").rstrip(".").lower()
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return name
