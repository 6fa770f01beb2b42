"""Notices agents that do not trust our authority, by what they say or by how they leave, and whom to tunnel for that.

Clients tell it in different ways, seen in real ones:
- an alert: curl, requests, httpx and rustls say "unknown ca", Java "certificate unknown", Go "bad certificate";
- no word: asyncio (aiohttp) and Node close the connection within the handshake, others right after it.
An alert is certain. Silence may have another cause: it counts for what it is worth, and twice in a row as certain.
"""

import time

from mitmproxy.connection import Client
from mitmproxy.tls import TlsData

from addons.failures import distrust
from addons.flows import Counts
from addons.run_tag import RunTag

LEFT_AT_ONCE_NS = 2_000_000_000
CERTAIN_AFTER = 2

type Place = tuple[str, int]


class Distrust:
    """Remembers by host and port; `tunnels` says whether such a place is passed through from then on."""

    def __init__(self, counts: Counts, tags: RunTag, *, tunnels: bool) -> None:
        self._counts = counts
        self._tags = tags
        self._tunnels = tunnels
        self._signs: dict[Place, int] = {}
        self._secured: dict[str, tuple[Place, str, int]] = {}

    def passes(self, host: str, port: int) -> bool:
        """Whether nobody there would have what we offer."""
        return self._tunnels and self._signs.get((host, port), 0) >= CERTAIN_AFTER

    def tls_failed_client(self, failed: TlsData) -> None:
        """A handshake with an agent that came to nothing."""
        sure = distrust(failed.conn.error or "")
        if sure != "no":
            self._note(_place(failed), _name(failed), CERTAIN_AFTER if sure == "certain" else 1)

    def tls_established_client(self, made: TlsData) -> None:
        """A handshake with an agent that came about."""
        self._secured[made.conn.id] = (_place(made), _name(made), time.monotonic_ns())

    def client_disconnected(self, client: Client) -> None:
        """One that went through the handshake and left without a word has looked at our certificate."""
        place, name, since_ns = self._secured.pop(client.id, (("", 0), "", 0))
        if not since_ns:
            return
        if self._tags.has_asked(client):
            self._signs.pop(place, None)
        elif time.monotonic_ns() - since_ns < LEFT_AT_ONCE_NS:
            self._note(place, name, 1)

    def _note(self, place: Place, name: str, weight: int) -> None:
        self._signs[place] = self._signs.get(place, 0) + weight
        self._counts.distrusted[name] = self._counts.distrusted.get(name, 0) + 1


def _place(handshake: TlsData) -> Place:
    host, port, *_ = handshake.context.server.address or ("", 0)
    return host, port


def _name(handshake: TlsData) -> str:
    return handshake.conn.sni or _place(handshake)[0]
