"""The recorder: listens on the current event loop, records what agents say and hear, and stops without losing any."""

import os
from dataclasses import dataclass

from addons import Program, Told, program
from addons.embedding import Engine, Terms
from addons.flows import Counts, Flows
from addons.guard import check_address
from addons.keeping import Keeping
from addons.listeners import Listener, Listeners, is_loopback
from addons.options import RecorderOptions
from addons.repairs import EngineFailed
from addons.runs import Heard, OpenRun, Runs
from store import trust
from store.core.base import Base
from store.core.draft import Draft
from store.core.errors import EdgetapeError, UnknownRun
from store.core.model import CloseReason, RunOpen
from store.core.redact import Redactor
from store.drafting.scribe import Scribe
from store.scratch import Scratch

__all__ = ["Counts", "EngineFailed", "NoAuthority", "Recorder", "RecorderOptions"]

AUTHORITY_FILE = "mitmproxy-ca.pem"
LOOPBACK = "127.0.0.1"
LAST_WORDS_S = 2.0


class NoAuthority(EdgetapeError):
    """The certificate authority is not there."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How many runs are open, exchanges without outcome, connections of agents; whether the store fails."""

    open_runs: int
    going_on: int
    connections: int
    failing: bool


class Recorder:
    """One listener; one a process at a time. The scribe stays the caller's, who closes it after `stop`."""

    def __init__(self, scribe: Scribe, options: RecorderOptions) -> None:
        self.counts = Counts()
        self._options = options
        self._runs = Runs(scribe, options)
        self._flows = Flows(self._runs)
        self._keeping = Keeping(self._runs, self._flows, self.counts, options)
        self._listeners = Listeners()
        self._program: Program = program(self._keeping, options, self._listeners)
        self._engine: Engine | None = None
        self._roots: Scratch | None = None

    @property
    def port(self) -> int:
        """The port that it listens on, or listened on."""
        return self._listeners.all[0].port

    @property
    def bases(self) -> tuple[Base, ...]:
        """The servers that ports of ours stand for, with the ports."""
        return tuple(one.base.at(one.port) for one in self._listeners.all if one.base is not None)

    @property
    def standing(self) -> Standing:
        """What goes on now."""
        connections = 0 if self._engine is None else self._engine.connections
        return Standing(len(self._runs.open), len(self._flows.left()), connections, self._keeping.gaps.open)

    @property
    def heard(self) -> Heard:
        """Who is told of runs that are opened and closed."""
        return self._runs.heard

    @heard.setter
    def heard(self, heard: Heard) -> None:
        self._runs.heard = heard

    def tell(self, options: RecorderOptions) -> None:
        """Goes on with other options; where it listens, whom it trusts and how durably it keeps stay as they are."""
        self._options = options
        told: list[Told] = [self._runs, self._keeping, *self._program.told]
        for each in told:
            each.tell(options)

    async def start(self) -> None:
        """Listens. Raises UnsafeAddress, NoAuthority, NoRoots or EngineFailed."""
        options = self._options
        check_address(options.listen_host, has_token=bool(options.admitted))
        if not (options.confdir / AUTHORITY_FILE).is_file():
            # mitmproxy would make one of its own, which no agent trusts.
            raise NoAuthority(f"there is no certificate authority in {options.confdir}")
        self._roots = Scratch()
        try:
            (self._roots.path / "roots.pem").write_bytes(trust.server_roots(os.environ, options.upstream_ca))
            terms = Terms(
                listening=self._wanted(),
                confdir=options.confdir,
                roots=self._roots.path / "roots.pem",
                silence_s_max=options.silence_s_max,
                inline=options.inline_hooks,
                filtered=not is_loopback(options.listen_host),
                decide=self._program.tunnel.decide,
                crashed=self._crashed,
            )
            self._engine = await Engine.start(terms, self._program.ordered)
        except BaseException:
            self._clean_up()
            raise
        self._listeners.open([*self._engine.listening, *(Listener(*place) for place in options.own_ports)])
        self._keeping.drop = self._engine.drop
        self._keeping.sever = self._engine.sever
        self._keeping.was_closed = self._engine.was_closed

    async def stop(self, reason: CloseReason = "normal") -> None:
        """Takes nothing new, lets what goes on end for some seconds, cuts the rest, and closes every run.

        What was cut is recorded as `recorder_stopped`. Raises StoreUnusable when a run could not be closed.
        """
        try:
            if self._engine is not None:
                await self._engine.close_listener()
                await self._flows.until_none(self._options.drain_s)
                self._program.capture.stopping = True
                await self._engine.cut_all()
                await self._flows.until_none(LAST_WORDS_S)
                await self._program.capture.sweep()
                await self._engine.stop()
                self._engine = None
            await self._keeping.gaps.settle()
            await self._runs.close_all(reason)
        finally:
            self._clean_up()

    def open_run(self, draft: Draft, redactor: Redactor | None = None) -> str:
        """Opens a run for all traffic that names no other; `draft.facts` is a RunOpen.

        `redactor` is the one that made the draft, and knows what it took out. Returns the run's id; the run is found
        by it, and by its name, and is closed by `close_run` or `stop`.
        """
        facts = draft.facts
        name = facts.name if isinstance(facts, RunOpen) and isinstance(facts.name, str) else ""
        return self._runs.adopt(draft, name, redactor or Redactor(self._options.secrets)).id

    async def close_run(self, run: str, reason: CloseReason, exit_code: int | None = None) -> None:
        """Ends an open run (id or name) when what goes on in it has ended, or after some seconds.

        Raises UnknownRun, StoreUnusable.
        """
        known = self._runs.find(run)
        if known is None:
            raise UnknownRun(f"there is no open run {run}")
        await self._until_quiet(known)
        await self._runs.close(known, reason, exit_code)

    async def _until_quiet(self, run: OpenRun) -> None:
        """An agent that has ended leaves connections that are just breaking: their outcomes belong to the run."""
        if not await run.until_quiet(LAST_WORDS_S):
            exchanges = self._flows.of_run(run)
            for live in exchanges:
                live.stopped = True
            tunnels = self._program.tunnel.clients_of(run)
            self.counts.cut += len(exchanges) + len(tunnels)
            clients = (live.flow.client_conn.id for live in exchanges)
            for client in {*clients, *tunnels}:
                self._keeping.drop(client)
            await run.until_quiet(LAST_WORDS_S)

    def _wanted(self) -> list[Listener]:
        options = self._options
        proxy = Listener(options.listen_host, options.listen_port)
        # What belongs to one run is for this machine only: whoever comes there says no token.
        return [
            proxy,
            *(Listener(LOOPBACK, port, run, vouched=True) for run, port in options.run_ports),
            *(
                Listener(LOOPBACK if base.run else options.listen_host, base.listens, base.run, base, bool(base.run))
                for base in options.bases
            ),
        ]

    def _crashed(self, message: str, peer: tuple[str, int] | None) -> None:
        self._keeping.failed(RuntimeError(message))
        if peer is not None and self._engine is not None:
            self._engine.drop_peer(peer)

    def _clean_up(self) -> None:
        if self._roots is not None:
            self._roots.remove()
            self._roots = None
