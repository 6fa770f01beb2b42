"""The course of a sandbox: some servers are played by fakes, and nothing but these can be reached. Pure.

Rules kept here:
- A request for a server, or for a place of it, that has a fake goes to the fake, whatever it does: there is nobody to
  harm.
- Model requests are answered from the recording, or live where that was said.
- Everything else is answered by the recorded answer to an equal request; where none is, the sandbox ends.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar, Literal, cast
from urllib.parse import SplitResult, urlsplit

from replay_server.match import Match, Tier
from replay_server.modes import NotAllowed
from replay_server.registry import Deed, Registry, Ruling
from replay_server.ventures.choice import EQUAL, Choice, Venture
from store.core.form import Endpoint
from store.core.model import Mode

_PORTS = {"http": 80, "https": 443}
_ROW = re.compile(r"(?P<host>[^/]*)(?P<place>/.*?)?=(?P<url>[a-z]+://.*)", re.IGNORECASE | re.DOTALL)
_HINT = (
    "write `api.example.com=http://127.0.0.1:9000` or `api.example.com/v1/orders*=http://127.0.0.1:9000`; * stands for"
    " any letters"
)


@dataclass(frozen=True, slots=True)
class Fake:
    """A row of the map: requests for `host` (a pattern, with a port or not) go to `scheme`, `to`, `port`, their paths
    behind `path`; with `place` only those whose path is such.
    """

    host: str
    scheme: Literal["http", "https"]
    to: str
    port: int
    path: bytes = b""
    place: str = ""

    @classmethod
    def parse(cls, text: str) -> "Fake":
        """`HOST=URL` or `HOST/PATH=URL`. Raises NotAllowed."""
        row = _ROW.fullmatch(text)
        host, place, url = row.groups("") if row is not None else ("", "", "")
        parts, port = _split(url)
        whole = host and port and parts.hostname and parts.scheme in _PORTS
        if not whole or parts.query or parts.fragment or parts.username is not None:
            raise NotAllowed(f"no host and URL of a fake: {text!r}", hint=_HINT)
        scheme = cast("Literal['http', 'https']", parts.scheme)
        return cls(host.lower(), scheme, str(parts.hostname), port, parts.path.rstrip("/").encode(), place)

    def plays(self, host: str, port: int) -> bool:
        """Whether it stands for a server."""
        return any(fnmatchcase(name, self.host) for name in (host, f"{host}:{port}"))

    def takes(self, path: str) -> bool:
        """Whether it answers for a path of that server."""
        return not self.place or fnmatchcase(path, self.place)

    def moved(self, asked: Endpoint) -> Endpoint:
        """Where a request is sent."""
        return asked._replace(scheme=self.scheme, host=self.to, port=self.port, path=self.path + asked.path)

    def __str__(self) -> str:
        name = f"[{self.to}]" if ":" in self.to else self.to
        return f"{self.scheme}://{name}:{self.port}{self.path.decode()}"


@dataclass(frozen=True, slots=True)
class Fakes:
    """All rows; the first that names a server, and a place of it, counts."""

    rows: tuple[Fake, ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Fakes":
        """The rows of a command line or file. Raises NotAllowed."""
        return cls(tuple(Fake.parse(text) for text in texts))

    def answering(self, host: str, port: int, path: str) -> Fake | None:
        """The fake that answers there, None where none does."""
        return next((fake for fake in self.rows if fake.plays(host, port) and fake.takes(path)), None)

    def play(self, host: str, port: int) -> bool:
        """Whether some of what is for a server goes to a fake."""
        return any(fake.plays(host, port) for fake in self.rows)


NO_FAKES = Fakes()


@dataclass(slots=True)
class Sandbox(Venture):
    """One sandbox. `registry` has the servers of models that may be asked, none where models are recorded."""

    registry: Registry
    fakes: Fakes
    repeats: bool = False
    mode: ClassVar[Mode] = "sandbox"
    adds_keys: ClassVar[bool] = False
    ends_on_miss: ClassVar[bool] = True

    def choose(self, match: Match, deed: Deed) -> Choice:
        """Decides one request."""
        if self.fakes.answering(deed.host, deed.port, deed.path) is not None:
            return Choice("live", Ruling(True, deed.effect))
        if match.tier is Tier.OPTIONAL:
            return Choice("replay")
        if deed.is_model and self.registry.rules:
            ruling = self.registry.rule(deed)
            return Choice("live" if ruling.is_live else "refuse", ruling, ruling.why)
        if match.tier in EQUAL or (self.repeats and match.again):
            return Choice("replay")
        return Choice("leave")

    def dials(self, host: str, port: int) -> bool:
        """Whether somebody is there."""
        return self.fakes.play(host, port) or self.registry.names(host, port)

    def target(self, place: Endpoint) -> Endpoint | None:
        """The fake that a request goes to."""
        fake = self.fakes.answering(place.host, place.port, place.path.decode("utf-8", "replace"))
        return None if fake is None else fake.moved(place)


def _split(url: str) -> tuple[SplitResult, int]:
    """A URL in its parts, and its port, 0 where it has none that can be."""
    try:
        parts = urlsplit(url)
        return parts, parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return SplitResult("", "", "", "", ""), 0
