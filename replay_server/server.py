"""The replay server: a proxy and base URL on loopback that answers from a recorded run.

Rules kept here:
- The upstream client is constructed for a live mode and for nothing else; without one the only connections that are
  made go to listeners of the agent itself.
- Every request gets an answer, or the failure that was recorded; what goes wrong in here is told, never passed over.
"""

import asyncio
import os
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from replay_server.admission import Admission
from replay_server.answer import Answer, Live, Reply, build
from replay_server.brood import Brood
from replay_server.caller import Caller, Heard
from replay_server.certificates import Certificates
from replay_server.connect import Front
from replay_server.findings import Clients
from replay_server.hello import shows_distrust
from replay_server.holding import hold
from replay_server.ledger import Ledger
from replay_server.listener import CannotListen, listening
from replay_server.live import Outing
from replay_server.local import is_loopback, reach, tunnel
from replay_server.modes import Pace, Policy, is_ci
from replay_server.normalise import Rules
from replay_server.opening import child_opening
from replay_server.options import LiveOptions, ReplayOptions
from replay_server.porch import Porch, Porches
from replay_server.report import Report, report
from replay_server.request import origin_form, read, refusal, said_for_itself, stranger
from replay_server.send import send
from replay_server.session import Session
from replay_server.sockets.dialogue import Dialogue
from replay_server.tape import Tape
from replay_server.target import Authority
from replay_server.wording import Ending
from store.authority import Authority as CertificateAuthority
from store.core.base import Base
from store.core.errors import EdgetapeError, Malformed
from store.core.form import Asked
from store.core.model import CloseReason, Ended, Parent
from store.core.redact import Redactor
from store.reader import Reader, RunInfo
from store.writer import Writer

if TYPE_CHECKING:
    from replay_server.upstream import Upstream

_END_S_MAX = 1.0

__all__ = ["CannotListen", "LiveOptions", "ReplayOptions", "ReplayServer"]


class ReplayServer:
    """Replays one run for one agent. `stopped` is set by the drift that ends the replay."""

    def __init__(
        self, reader: Reader, writer: Writer, run: RunInfo, authority: CertificateAuthority, options: ReplayOptions
    ) -> None:
        """Reads the run's events. Raises BadRule, NotAllowed for options that cannot be, Unlinked, StoreUnusable."""
        policy = Policy(options.on_drift, options.on_miss, options.repeat_last, options.no_wait)
        policy.check(ci=is_ci(os.environ), goes_live=options.live is not None)
        self.options = options
        self.port = 0
        self.bases: tuple[Base, ...] = ()
        self.stopped = asyncio.Event()
        self._pace = Pace.parse(options.pace)
        self._rules = Rules.of(options.ignore, options.optional, shipped=options.agent_rules)
        tape = Tape(reader, run, self._rules, unverified=options.unverified)
        self.clients = Clients(tunnelled=tape.tunnelled)
        self._certificates = Certificates(authority, datetime.fromisoformat(run.opened), datetime.now(UTC))
        redactor = options.redactor or Redactor(options.secrets)
        start = options.live.start(tape) if options.live else None
        seq = start.seq if start else run.events - 1
        parent = Parent(run=run.id, seq=seq, event_hash=reader.event_hash(run.id, seq).hex())
        self._ledger = Ledger(writer, redactor, options.opening(parent))
        self.session = Session(
            tape, self._ledger, redactor, policy, options.order, options.use_map, self.stopped, start
        )
        self._brood: Brood | None = None
        if options.live is not None:
            mode, rules = options.live.plan.mode, options.live.own.version
            self._brood = Brood(
                self._ledger,
                lambda draft: Ledger(writer, redactor, draft),
                lambda parent, tag: child_opening(parent, mode, tape.names.get(tag, tag), redactor, rules),
            )
        self._upstream: Upstream | None = None
        self.admission = Admission(self.clients, options.token, options.owns_connection)
        self._porches = Porches(self._respond, self.failed, self.clients)
        self._fronts: set[asyncio.Task[None]] = set()
        self._listeners: list[asyncio.Server] = []
        self._report: Report | None = None

    @property
    def run(self) -> str:
        """The id of the replay's own run."""
        return self._ledger.run

    async def start(self, behind: int | None = None) -> None:
        """Listens; `behind` a port that others share, on ports of its own for base URLs only. Raises CannotListen."""
        self.port = behind or await self._listen(self.options.listen_port, None)
        bases = [(base, 0 if behind else base.listens) for base in self.options.bases]
        self.bases = tuple([base.at(await self._listen(port, base)) for base, port in bases])
        if self.options.live is not None:
            from replay_server.upstream import Upstream  # not even loaded where nothing may go out

            self._upstream = Upstream(self.options.live.dial, self.options.live.roots)

    async def _listen(self, port: int, base: Base | None) -> int:
        """Listens on one port, which stands for a server where `base` says so; returns it."""
        try:
            listener = await listening(self.options.listen_host, port, lambda: Front(self, self._fronts, base))
        except CannotListen:
            await self.abandon()
            raise
        self._listeners.append(listener)
        return int(listener.sockets[0].getsockname()[1])

    async def abandon(self) -> None:
        """Ends what never began to answer."""
        self._close_listeners()
        await self._ledger.end()

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            listener.close()

    async def stop(
        self,
        exit_code: int | None,
        attempts: Sequence[str] = (),
        *,
        confined: bool = False,
        allowed: Sequence[int] = (),
        reason: CloseReason = "agent_exit",
    ) -> Report:
        """Ends the replay and writes its verdict. `exit_code` is the agent's, `attempts` tell what tried to get out.

        Called again it gives the same report. A store that fails is a failure of the report, and costs nobody the rest.
        """
        if self._report is not None:
            return self._report
        self._close_listeners()
        await self._porches.close(_END_S_MAX)
        for task in tuple(self._fronts):
            task.cancel()
        await asyncio.gather(*self._fronts, return_exceptions=True)
        if self._upstream is not None and self.session.findings.fork is not None:
            self.session.findings.fork.connections = self._upstream.opened
            self.session.findings.fork.children = self._brood.runs if self._brood is not None else {}
            await self._upstream.close()
        pause = self.options.pause
        if pause is not None:
            self.session.findings.edited = list(pause.edited)
            if pause.stopped_at is not None:
                self.session.findings.stopped_at, self.session.findings.stopped_by_hand = pause.stopped_at, True
        ending = Ending(exit_code, tuple(attempts), confined, tuple(allowed))
        self._report = self._judge(ending)
        try:
            if self._brood is not None:
                await self._brood.close(reason)
            await self._ledger.close(self._report, reason, exit_code)
        except EdgetapeError as error:
            self.session.fail(f"the replay's own run is incomplete: {error}")
            self._report = self._judge(ending)
        return self._report

    def _judge(self, ending: Ending) -> Report:
        tape = self.session.tape
        rules = [rule for rule in self._rules.own if rule not in tape.used]
        return report((tape.run.id, tape.run.name, self.run), self.session.finish(), self.clients, ending, rules)

    def porch(self, caller: Caller) -> Porch:
        """Speaks HTTP on a connection (for the front)."""
        return Porch(self._porches, caller)

    def context(self, host: str) -> ssl.SSLContext:
        """The TLS context for a host (for the front). Raises BadHost."""
        return self._certificates.context(host)

    def handshake_failed(self, host: str, error: Exception) -> None:
        """Counts a client that broke off."""
        if shows_distrust(error):
            self.clients.distrusted[host] += 1
        else:
            self.clients.malformed += 1

    def insists(self, host: str) -> None:
        """Counts a client that speaks HTTP/2 only (for the front)."""
        self.clients.h2_only[host] += 1

    def malformed(self) -> None:
        """Counts what is no HTTP (for the front)."""
        self.clients.malformed += 1

    def failed(self, error: Exception) -> None:
        """Files a fault of ours (for the front)."""
        self.session.fail(f"{type(error).__name__}: {error}")

    def connects(self, place: Authority) -> bool:
        """Whether a CONNECT succeeds (for the front); one that failed when it was recorded fails again."""
        return self.session.connects(place.host, place.port)

    async def owns(self, place: Authority) -> bool:
        """Whether the agent's own processes listen on a loopback port."""
        if self.options.local != "pass":
            return False
        return await asyncio.to_thread(self.options.owns_port, place.port)

    async def tunnel(
        self, place: Authority, client: asyncio.Transport, listener: asyncio.Transport, first: bytes = b""
    ) -> None:
        """Joins the agent to its own listener, and records that."""
        self.clients.local_tunnels += 1
        opened = self._ledger.tunnel(place.host, place.port)
        await tunnel(client, listener, first, lambda *counts: self._ledger.tunnel_end(opened, *counts))

    async def _respond(self, asked: Heard) -> bool:
        """Answers one request; whether another may follow. A client that leaves cancels this."""
        caller, line = asked.caller, asked.line
        if caller.placed is None and caller.vouched and not self.admission.agrees(said_for_itself(asked)):
            return await self._say(stranger(asked), asked)
        caller.vouched = caller.vouched or await self.admission.admits(line.transport, said_for_itself(asked))
        if not caller.vouched:
            return await self._say(stranger(asked), asked)
        try:
            own = (self.run, self.session.tape.run.id)
            raw, live, placed = await read(asked, self._stood_for, own, self.session.expectations.word)
        except Malformed as error:
            self.clients.malformed += 1
            return await self._say(refusal(asked, HTTPStatus.BAD_REQUEST, str(error)), asked)
        if placed and caller.placed is None and is_loopback(raw.endpoint.host):
            place = Authority(raw.endpoint.scheme, raw.endpoint.host, raw.endpoint.port)
            if await self.owns(place):
                return await self._pass_on(asked, raw, place)
        reply = await self._ask(raw, live, placed=placed)
        if isinstance(reply, Outing):
            return await self._carry(reply, live, asked)
        if isinstance(reply, Dialogue):
            from replay_server.sockets.speech import speak  # few runs have a WebSocket in them

            await speak(reply, line, self._pace, self.options.pause)
            return False
        if self.options.pause is not None:
            reply = await hold(self.options.pause, reply, line)
        ended: Ended = "client_gone"
        try:
            ended = await send(reply.answer, line, self._pace, self.options.hang_s_max)
        finally:
            self.clients.hung += ended == "timeout"
            reply.sent(ended)
        return reply.answer.keep_alive and ended == "complete"

    async def _say(self, answer: Answer, asked: Heard) -> bool:
        return await send(answer, asked.line, self._pace, 0) == "complete" and answer.keep_alive

    def _stood_for(self, place: Authority) -> Authority | None:
        found = (base for base in self.bases if base.listens == place.port and is_loopback(place.host))
        return next((Authority(base.scheme, base.host, base.port) for base in found), None)

    async def _carry(self, outing: Outing, live: Live, asked: Heard) -> bool:
        from replay_server.carriage import carry

        assert self._upstream is not None
        try:
            return await carry(outing, live, self._upstream, asked.line)
        except EdgetapeError as error:  # the store failed: what cannot be recorded does not happen
            return await self._say(build(self.session.fail(f"{type(error).__name__}: {error}"), live), asked)

    async def _ask(self, raw: Asked, live: Live, *, placed: bool) -> Reply | Outing | Dialogue:
        try:
            ledger = self._ledger if self._brood is None else await self._brood.meet(raw.headers)
            return self.session.ask(raw, live, placed=placed, ledger=ledger)
        except Exception as error:  # noqa: BLE001  # a fault of ours must reach the verdict, not vanish in a 500
            said = self.session.fail(f"{type(error).__name__}: {error}")
            return Reply(build(said, live), lambda _: None)

    async def _pass_on(self, asked: Heard, raw: Asked, place: Authority) -> bool:
        """Hands an absolute-form request, and the connection with it, to the agent's own listener."""
        client, listener = asked.line.transport, await reach(place)
        if client is None or listener is None:
            text = f"nothing listens on {place.host} port {place.port} any more"
            return await self._say(refusal(asked, HTTPStatus.BAD_GATEWAY, text), asked)
        client.pause_reading()
        await self.tunnel(place, client, listener, origin_form(raw))
        return False
