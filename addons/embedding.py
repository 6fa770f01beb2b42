"""Runs mitmproxy as our engine, in our own process: starts it, listens to its log, cuts its connections, ends it.

Rules kept here:
- Of mitmproxy's add-ons only Core, Proxyserver, NextLayer and TlsConfig run, and Block beyond loopback. `chain` does
  what UpstreamAuth does, and `tunnel` passes through what DisableH2C kills.
- The server is dialled at CONNECT (eager): a dead port is refused where the agent expects it, the server's choice of
  HTTP version is mirrored, its names are copied, and protocols in which the server speaks first work. No byte of a
  request is sent by that, so the request event still comes first.
- What mitmproxy would lose of an exchange is repaired in `addons.repairs`, the only file with private imports.
"""

import asyncio
import contextlib
import errno
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from mitmproxy import master, options
from mitmproxy.addons import block, core, next_layer, proxyserver, tlsconfig
from mitmproxy.connection import Client, Server
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy import context, events, layer
from mitmproxy.proxy.layers import tcp
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler

from addons.dispatch import Dispatch
from addons.handshakes import Handshakes
from addons.listeners import Listener
from addons.quickening import quicken
from addons.repairs import EngineFailed, repair
from addons.socks import Socks
from store.core import socks
from store.reasons import reason

END_S_MAX = 5.0


@dataclass(slots=True)
class Tally:
    """The bytes that a tunnel has carried: `sent` by the agent, `received` by it."""

    sent: int = 0
    received: int = 0


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What the first bytes inside a CONNECT look like, before it is decided how they are treated."""

    client: Client
    server: Server
    from_client: bytes
    from_server: bytes


type Verdict = Literal["http", "wait"] | Tally
type Decide = Callable[[Glimpse], Awaitable[Verdict]]
type Crashed = Callable[[str, tuple[str, int] | None], None]


@dataclass(frozen=True, slots=True)
class Terms:
    """How the engine is to run: `listening` are its ports, the proxy first.

    `roots` is the PEM file that servers' certificates must lead to. `inline` says whether hooks may be called in their
    connection's own turn (`addons.quickening`). `decide` is asked about each CONNECT; `crashed` is told of faults
    inside mitmproxy, with the agent's address.
    """

    listening: Sequence[Listener]
    confdir: Path
    roots: Path
    silence_s_max: int
    filtered: bool
    inline: bool
    decide: Decide
    crashed: Crashed


class Engine:
    """A running mitmproxy. One a process at a time: its context is global. `listening` are its ports, as they are."""

    def __init__(
        self,
        running: master.Master,
        server: proxyserver.Proxyserver,
        watch: logging.Handler,
        listening: Sequence[Listener],
    ) -> None:
        self.listening = listening
        self._master = running
        self._server = server
        self._watch = watch
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, terms: Terms, program: Sequence[object]) -> "Engine":
        """Listens. Raises EngineFailed."""
        repair()
        quick = quicken(inline=terms.inline)
        listening = [_placed(one) for one in terms.listening]
        modes = [f"regular@{one.host}:{one.port}" for one in listening]
        running, ready = master.Master(options.Options()), _Ready()
        server = proxyserver.Proxyserver()  # type: ignore[no-untyped-call]
        handshakes = Handshakes() if quick else tlsconfig.TlsConfig()
        ours = [core.Core(), server, _Peek(terms.decide), handshakes]
        running.addons.add(*ours, *([block.Block()] if terms.filtered else []), *program, ready)  # type: ignore[no-untyped-call]
        running.options.update(  # type: ignore[no-untyped-call]
            mode=modes,
            confdir=str(terms.confdir),
            ssl_verify_upstream_trusted_ca=str(terms.roots),
            tcp_timeout=terms.silence_s_max,
            connection_strategy="eager",
        )
        running.addons.handle_lifecycle = Dispatch(running.addons).handle_lifecycle  # type: ignore[method-assign]
        engine = cls(running, server, _listen_to_log(terms.crashed), listening)
        engine._task = asyncio.create_task(running.run())
        waiting = asyncio.create_task(ready.up.wait())
        await asyncio.wait((engine._task, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        failures = [one.last_exception for one in server.servers]
        if not failures or any(failures):
            await engine.stop()
            at = next((at for at, failure in enumerate(failures) if failure), 0)
            raise _cannot_listen(listening[at], failures[at] if failures else None)
        return engine

    @property
    def connections(self) -> int:
        """How many agents' connections are open."""
        return len(self._server.connections)

    async def close_listener(self) -> None:
        """Takes no new connections; those that are open go on."""
        await self._server.servers.update([])

    def drop(self, client: str) -> None:
        """Cuts the connection of one client (by its id), whatever it is doing."""
        for connection in list(self._server.connections.values()):
            if connection.client.id == client:
                _cut(connection)

    def sever(self, server: Server) -> None:
        """Cuts the connection to one server; nothing that is still to be written goes out."""
        for connection in self._server.connections.values():
            io = connection.transports.get(server)
            if io is not None and isinstance(io.writer, asyncio.StreamWriter):
                io.writer.transport.abort()

    def was_closed(self, flow: HTTPFlow) -> bool:
        """Whether the server of a flow has ended its side of the connection as one does, not by a reset."""
        for connection in self._server.connections.values():
            io = connection.transports.get(flow.server_conn)
            if io is not None and io.reader is not None:
                return io.reader.at_eof() and io.reader.exception() is None  # type: ignore[union-attr]
        return False

    def drop_peer(self, peer: tuple[str, int]) -> None:
        """Cuts the connection that comes from one address."""
        for connection in list(self._server.connections.values()):
            if connection.client.peername == peer:
                _cut(connection)

    async def cut_all(self) -> None:
        """Cuts every connection, and waits until they are gone."""
        until = time.monotonic() + END_S_MAX
        while self._server.connections and time.monotonic() < until:
            for connection in list(self._server.connections.values()):
                _cut(connection)
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """Ends; nothing is listened to and nothing is open afterwards."""
        await self.close_listener()
        await self.cut_all()
        self._master.shutdown()  # type: ignore[no-untyped-call]
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        _stop_listening_to_log(self._watch)


def _cut(connection: ProxyConnectionHandler) -> None:
    io = connection.transports.get(connection.client)
    if io is not None and io.handler is not None:
        io.handler.cancel("cut by edgetape")


def _placed(wanted: Listener) -> Listener:
    """The same at a port that is free, where any will do."""
    if wanted.port:
        return wanted
    family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
    try:
        with socket.create_server((wanted.host, 0), family=family) as trial:
            return replace(wanted, port=trial.getsockname()[1])
    except OSError as error:
        raise _cannot_listen(wanted, error) from error


def _cannot_listen(wanted: Listener, failure: BaseException | None) -> EngineFailed:
    """Why not, by the error's number: the engine's own sentence speaks of options that only mitmdump has."""
    number = failure.errno if isinstance(failure, OSError) else 0
    if number is None or number < 0 or number == errno.EADDRNOTAVAIL:  # none of several, or a name not resolved
        why, hint = "that is no address of this machine", "name one of its own, such as 127.0.0.1"
    else:
        why = "the engine did not start" if failure is None else reason(failure)
        another = "another" if number == errno.EADDRINUSE else "another port"
        hint = f"choose {another} with --port, or 0 for any free one"
    return EngineFailed(f"cannot listen on {wanted.host} port {wanted.port}: {why}", hint=hint)


class _Ready:
    """Hears when all servers have been set up."""

    def __init__(self) -> None:
        self.up = asyncio.Event()

    def running(self) -> None:
        self.up.set()


class _CrashWatch(logging.Handler):
    """Hears of the faults that mitmproxy logs and goes on from; the rest of its talk goes nowhere."""

    def __init__(self, crashed: Crashed) -> None:
        super().__init__(logging.ERROR)
        self._crashed = crashed

    def emit(self, record: logging.LogRecord) -> None:
        why = f": {record.exc_info[1]}" if record.exc_info else ""
        self._crashed(record.getMessage() + why, getattr(record, "client", None))


def _listen_to_log(crashed: Crashed) -> logging.Handler:
    watch, log = _CrashWatch(crashed), logging.getLogger("mitmproxy")
    log.addHandler(watch)
    log.propagate = False
    return watch


def _stop_listening_to_log(watch: logging.Handler) -> None:
    log = logging.getLogger("mitmproxy")
    log.removeHandler(watch)
    log.propagate = True


class _Peek(next_layer.NextLayer):
    """Asks us about what is inside a CONNECT, before mitmproxy's own rules say which HTTP or TLS it is."""

    name = "nextlayer"

    def __init__(self, decide: Decide) -> None:
        self._decide = decide

    async def next_layer(self, nextlayer: layer.NextLayer) -> None:
        """Chooses the layer; leaving it open waits for more bytes."""
        context = nextlayer.context
        verdict: Verdict = "http"
        if len(context.layers) == 1 and nextlayer.data_client().startswith(socks.VERSION):  # type: ignore[no-untyped-call]
            nextlayer.layer = Socks(context)
            return
        if len(context.layers) > 1:  # one layer only: the listener itself, which speaks HTTP or SOCKS
            seen = nextlayer.data_client(), nextlayer.data_server()  # type: ignore[no-untyped-call]
            verdict = await self._decide(Glimpse(context.client, context.server, *seen))
        if isinstance(verdict, Tally):
            nextlayer.layer = _CountedTunnel(context, verdict)
        elif verdict == "http":
            super().next_layer(nextlayer)


class _CountedTunnel(tcp.TCPLayer):
    """A tunnel that counts, and fires no hook for each piece."""

    def __init__(self, context: context.Context, tally: Tally) -> None:
        super().__init__(context, ignore=True)
        self._tally = tally

    def relay_messages(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.DataReceived):
            if event.connection is self.context.client:
                self._tally.sent += len(event.data)
            else:
                self._tally.received += len(event.data)
        yield from super().relay_messages(event)
