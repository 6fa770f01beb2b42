"""The ports that a recorder listens on, and what each of them says of what comes there.

The first is the proxy. Others stand for a server (`Base`), or belong to one run.
"""

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mitmproxy.connection import Client

from store.core.base import Base


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its very name (RFC 6761, section 6.3) or address."""
    name = host.strip("[]").lower().rstrip(".")
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def is_here(address: str, listening_host: str) -> bool:
    """Whether a connection to an address would end at a listener of ours."""
    asked, ours = (ipaddress.ip_address(text.partition("%")[0]) for text in (address, listening_host))
    if asked.is_loopback or asked.is_unspecified or not ours.is_unspecified:
        return asked.is_loopback or asked.is_unspecified or asked == ours
    family = socket.AF_INET6 if asked.version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as trial:
        try:
            trial.bind((address, 0))  # only an address of this machine can be bound
        except OSError:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Listener:
    """One port (0: any free one). `run` takes everything that names no other; `base` is the server it stands for.

    `vouched`: whoever reaches it needs no token.
    """

    host: str
    port: int
    run: str = ""
    base: Base | None = None
    vouched: bool = False


class Listeners:
    """Those of one recorder, once it listens."""

    def __init__(self) -> None:
        self._all: tuple[Listener, ...] = ()
        self._by_port: dict[int, Listener] = {}

    def open(self, listening: Sequence[Listener]) -> None:
        """Takes note of where it listens."""
        self._all = tuple(listening)
        self._by_port = {one.port: one for one in listening}

    @property
    def all(self) -> tuple[Listener, ...]:
        """Every one, the proxy first."""
        return self._all

    def base_at(self, host: str, port: int) -> Base | None:
        """The server that an address of ours stands for: clients may ask the proxy for it, too."""
        listener = self._by_port.get(port)
        return listener.base if listener is not None and (is_loopback(host) or host == listener.host) else None

    def have(self, address: str, port: int) -> bool:
        """Whether a connection to an address ended at ourselves, and not at a port that stands for a server."""
        listener = self._by_port.get(port)
        return listener is not None and listener.base is None and is_here(address, listener.host)

    def of(self, client: Client) -> Listener | None:
        """The one that a client came to."""
        return self._by_port.get(client.sockname[1])
