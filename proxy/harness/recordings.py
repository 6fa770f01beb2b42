"""The recording sessions of a harness: one recorder for all of them, a run each, and a tape at the end of each."""

import contextlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from addons.options import RecorderOptions
from addons.recorder import Recorder
from proxy.agent.environment import changes
from proxy.agent.identity import RUN_VARIABLE, Introduction, run_open
from proxy.agent.passage import Way, passage
from proxy.agent.upstream import upstream_proxy
from proxy.commands.export import Form, packed
from proxy.harness.lines import Record
from proxy.harness.outfits import Outfits
from proxy.harness.owner import TestProcess
from proxy.harness.terms import Terms
from proxy.options import Shared
from proxy.stores import upkeep
from proxy.stores.policy import in_force
from proxy.talk import Talk
from proxy.views.silence import Noticed, likely_cause
from store.authority import Authority
from store.core import redact
from store.labels.classify import RULES
from store.reader import Reader

WORKFLOW = "pytest"


@dataclass(slots=True)
class _Going:
    """The session that is being recorded, and what the recorder had noticed before it."""

    wish: Record
    tunnels: int
    distrusted: Mapping[str, int]
    failures: int


class Recordings:
    """`start` it, and `close` it. One session goes on at a time."""

    def __init__(self, talk: Talk, shared: Shared, terms: Terms) -> None:
        self._talk, self._shared, self._by = talk, shared, terms.by
        self._closing = contextlib.ExitStack()
        self._scribe = self._closing.enter_context(upkeep.scribe(talk, shared))
        self._authority = Authority.open_or_create(shared.authority)
        self._token = secrets.token_urlsafe(16)
        self._test: TestProcess | None = None
        told = RecorderOptions(
            confdir=self._authority.folder,
            token=self._token,
            upstream_ca=terms.upstream_ca,
            durability=terms.durability,
            route=upstream_proxy(os.environ).route,
            secrets=redact.secrets_of(os.environ),
            owns_port=lambda port: self._test is not None and self._test.owns(port),
            owns_connection=lambda port, to: self._test is not None and self._test.connects(port, to),
        )
        self._recorder = Recorder(self._scribe, told)
        self._going: dict[str, _Going] = {}

    async def start(self) -> None:
        """Listens. Raises what a recorder raises that cannot."""
        await self._recorder.start()
        await self._scribe.note(in_force(self._shared))

    async def begin(self, wish: Record, outfits: Outfits) -> tuple[str, int, dict[str, str | None]]:
        """The id of the run, the recorder's port, and what the test's environment needs to reach it."""
        self._test = TestProcess(wish.pid, wish.environment)
        redactor = redact.Redactor(redact.secrets_of(wish.environment))
        introduction = Introduction(name=wish.name, workflow=WORKFLOW)
        argv = ("pytest", wish.name)
        opening = run_open(introduction, argv, Path(wish.folder), wish.environment, RULES, redactor)
        run = self._recorder.open_run(opening, redactor)
        counts = self._recorder.counts
        self._going[run] = _Going(wish, counts.tunnels, dict(counts.distrusted), counts.failures)
        files = outfits.of(wish.environment, self._authority)
        way = Way(self._recorder.port, run, self._token)
        environment = passage(wish.environment, way, self._authority, files, {RUN_VARIABLE: run})
        return run, way.port, changes(wish.environment, environment | self._test.variables)

    def has(self, run: str) -> bool:
        """Whether a session of this id goes on."""
        return run in self._going

    async def end(self, run: str, *, keep: bool) -> dict[str, object]:
        """Closes the run, and writes its tape if it is to be kept and has something in it.

        Raises StoreUnusable.
        """
        going, counts = self._going.pop(run), self._recorder.counts
        await self._recorder.close_run(run, "agent_exit", 0 if keep else 1)
        await self._scribe.checkpoint()  # what is exported is signed
        with Reader.open(self._shared.store, self._shared.keys) as reader:
            steps = reader.run(run).steps
        cause = counts.last_failure if counts.failures > going.failures else ""
        if not steps and not cause:
            since = {
                host: number for host, number in counts.distrusted.items() if number > going.distrusted.get(host, 0)
            }
            found = likely_cause(Noticed(counts.tunnels - going.tunnels, since, 0))
            cause = f"{found.sentence}; {found.hint}"
        tape = Path(going.wish.tape)
        written = keep and steps > 0 and counts.failures == going.failures
        if written:
            packed(self._shared, self._talk, [run], tape, self._by, Form(proofs=True, bodies=True))
        return {"run": run, "steps": steps, "tape": str(tape) if written else None, "cause": cause}

    async def close(self) -> None:
        """Ends the recorder, with every run that is open."""
        try:
            await self._recorder.stop("operator")
        finally:
            self._closing.close()
