"""What passes through unopened, and is recorded as a tunnel with its byte counts.

Inside a CONNECT: HTTP/2 without TLS, and anything that is no HTTP. After an upgrade to anything but WebSocket. And, by
CONNECT or by plain requests, all traffic to a listener of the agent's own processes, where `local` says so, to what
`passthrough` names, and, by CONNECT, to servers at which an agent does not trust us, where `on_distrust` says so.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Literal

from mitmproxy.connection import Client
from mitmproxy.http import HTTPFlow
from mitmproxy.tcp import TCPFlow

from addons.distrust import Distrust
from addons.embedding import Glimpse, Tally, Verdict
from addons.keeping import ANSWERED, BARRED, Keeping, watched
from addons.listeners import is_loopback
from addons.options import RecorderOptions, nobody
from addons.run_tag import INSIDE, RunTag
from addons.runs import OpenRun
from addons.sight import raw
from addons.sniff import sniff
from store.core.draft import Draft
from store.core.errors import InvalidEvent
from store.core.model import TunnelClose
from store.drafting.seen import Reason
from store.drafting.seen import Tunnel as SeenTunnel
from store.ticket import Ticket

PASSED = "edgetape.passed"  # in flow.metadata: passes through unrecorded, as part of a tunnel


@dataclass(slots=True)
class _Open:
    run: OpenRun
    ticket: Ticket
    host: str
    port: int
    tally: Tally = field(default_factory=Tally)
    began_ns: int = field(default_factory=time.monotonic_ns)


class Tunnel:
    """Knows the tunnels of every connection."""

    def __init__(self, keeping: Keeping, tags: RunTag, options: RecorderOptions, distrust: Distrust) -> None:
        self.keeping = keeping
        self._tags = tags
        self._options = options
        self._distrust = distrust
        self._unopened: dict[str, Reason] = {}
        self._owned: dict[tuple[str, int], bool] = {}
        self._open: dict[str, list[_Open]] = {}

    def tell(self, options: RecorderOptions) -> None:
        """Other places to pass through from now on."""
        self._options = options

    @watched
    async def http_connect(self, flow: HTTPFlow) -> None:
        """Finds out whether the way leads to where nothing is opened."""
        if {ANSWERED, BARRED} & flow.metadata.keys():
            return
        reason = await self._why(flow)
        if reason is None and self._distrust.passes(flow.request.host, flow.request.port):
            reason = "pinned"
        if reason is not None:
            self._unopened[flow.client_conn.id] = reason
            flow.metadata[PASSED] = True

    async def decide(self, seen: Glimpse) -> Verdict:
        """What is done with what comes inside a CONNECT."""
        try:
            host, port, *_ = seen.server.address or ("", 0)
            match self._reason(seen):
                case "http" | "wait" as verdict:
                    return verdict
                case _ if self._options.unknown_run == "refuse" and not self._tags.said_by(seen.client).name:
                    self.keeping.counts.refused += 1
                    self.keeping.drop(seen.client.id)
                    return "wait"
                case reason:
                    return (await self._begin(seen.client, host, port, reason)).tally
        except Exception as error:  # noqa: BLE001  # as for every hook: nothing passes unrecorded
            if self.keeping.lost(self._tags.said_by(seen.client), error):
                return Tally()
            self.keeping.drop(seen.client.id)
            return "wait"

    @watched
    async def requestheaders(self, flow: HTTPFlow) -> None:
        """Lets a plain request to the same places pass."""
        reason = None if {ANSWERED, BARRED} & flow.metadata.keys() or flow.metadata[INSIDE] else await self._why(flow)
        if reason is None:
            return
        client, host, port = flow.client_conn, flow.request.host, flow.request.port
        known = (one for one in self._open.get(client.id, ()) if (one.host, one.port) == (host, port))
        tally = (next(known, None) or await self._begin(client, host, port, reason)).tally
        flow.metadata[PASSED] = tally
        flow.request.stream = lambda piece: _count_sent(tally, piece)

    def responseheaders(self, flow: HTTPFlow) -> None:
        """The same for its answer."""
        tally = flow.metadata.get(PASSED)
        if isinstance(tally, Tally) and flow.response is not None:
            flow.response.stream = lambda piece: _count_received(tally, piece)

    def websocket_message(self, flow: HTTPFlow) -> None:
        """The same for a message of a WebSocket; mitmproxy would keep them all."""
        tally = flow.metadata.get(PASSED)
        if isinstance(tally, Tally) and flow.websocket is not None:
            message = flow.websocket.messages[-1]
            (_count_sent if message.from_client else _count_received)(tally, message.content)
            flow.websocket.messages.clear()

    async def tcp_start(self, flow: TCPFlow) -> None:
        """An upgrade to something else than WebSocket (RFC 9110, section 7.8)."""
        host, port, *_ = flow.server_conn.address or ("", 0)
        try:
            flow.metadata[PASSED] = (await self._begin(flow.client_conn, host, port, "upgrade")).tally
        except Exception as error:  # noqa: BLE001  # as for every hook
            if not self.keeping.lost(self._tags.said_by(flow.client_conn), error):
                self.keeping.drop(flow.client_conn.id)

    def tcp_message(self, flow: TCPFlow) -> None:
        """Counts a piece of it; mitmproxy would keep them all."""
        tally = flow.metadata.get(PASSED)
        if isinstance(tally, Tally):
            message = flow.messages[-1]
            (_count_sent if message.from_client else _count_received)(tally, message.content)
        flow.messages.clear()

    def client_disconnected(self, client: Client) -> None:
        """The end of every tunnel of this connection."""
        self._unopened.pop(client.id, None)
        for key in [key for key in self._owned if key[0] == client.id]:
            del self._owned[key]
        for one in self._open.pop(client.id, ()):
            duration_us = (time.monotonic_ns() - one.began_ns) // 1000
            facts = TunnelClose(
                open=-1, sent_bytes=one.tally.sent, received_bytes=one.tally.received, duration_us=duration_us
            )
            try:
                self.keeping.keep_later(one.run, Draft(facts), one.ticket)
            except InvalidEvent as error:  # the run was closed first
                self.keeping.failed(error)
            self.keeping.runs.forget(one.ticket)
            self.keeping.runs.release(one.run)

    def clients_of(self, run: OpenRun) -> list[str]:
        """The ids of the connections that have a tunnel in a run."""
        return [client for client, opened in self._open.items() if any(one.run is run for one in opened)]

    def _reason(self, seen: Glimpse) -> Literal["http", "wait"] | Reason:
        unopened = self._unopened.get(seen.client.id)
        if unopened is not None:
            return unopened
        if seen.client.tls_established and seen.client.alpn in (b"h2", b"http/1.1", b"http/1.0", b"http/0.9"):
            return "http"
        inside = sniff(seen.from_client, seen.from_server)
        return "http" if inside == "tls" else inside

    async def _begin(self, client: Client, host: str, port: int, reason: Reason) -> _Open:
        run = await self.keeping.runs.of(self._tags.said_by(client))
        seen = SeenTunnel(host=raw(host), port=port, reason=reason)
        opened = _Open(run, await self.keeping.keep(run, seen), host, port)
        self._open.setdefault(client.id, []).append(opened)
        self.keeping.runs.hold(run)
        self.keeping.counts.tunnels += 1
        return opened

    async def _why(self, flow: HTTPFlow) -> Reason | None:
        """Why what goes there is not opened, whatever it is."""
        if self._options.passthrough.have(flow.request.host, flow.request.port):
            return "excluded"
        return "local" if await self._is_own(flow) else None

    async def _is_own(self, flow: HTTPFlow) -> bool:
        """Whether a process of the agent listens there: asked once a connection and port, in a thread."""
        host, port = flow.request.host, flow.request.port
        if self._options.local == "record" or self._options.owns_port is nobody or not is_loopback(host):
            return False
        key = (flow.client_conn.id, port)
        if key not in self._owned:
            self._owned[key] = await asyncio.to_thread(self._options.owns_port, port)
        return self._owned[key]


def _count_sent(tally: Tally, piece: bytes) -> bytes:
    tally.sent += len(piece)
    return piece


def _count_received(tally: Tally, piece: bytes) -> bytes:
    tally.received += len(piece)
    return piece
