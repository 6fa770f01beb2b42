"""One recorded run: the recorder, the agent under it, and the end of both."""

import os
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from addons.options import RecorderOptions
from addons.recorder import Recorder
from proxy.agent.bases import Say, base_variables
from proxy.agent.freezing import NOTHING, Freeze, Icebox, draft, remove_shared
from proxy.agent.identity import RUN_VARIABLE, Introduction, run_open
from proxy.agent.owner import Owner
from proxy.agent.passage import Way, passage
from proxy.agent.process import AgentNotStarted, Ended, running_agent
from proxy.agent.upstream import upstream_proxy
from proxy.confined.cell import Cell, Seen
from proxy.views.silence import Noticed
from store.authority import Authority
from store.core import redact
from store.core.errors import EdgetapeError, StoreUnusable
from store.core.leaf import PolicyKind
from store.drafting.scribe import Scribe
from store.scratch import scratch


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be recorded: the agent's command, what its run is called, what the recorder is told, and
    the policies in force. With `open_ports` the agent has no way out but the recorder and these ports.
    """

    argv: Sequence[str]
    introduction: Introduction
    options: RecorderOptions
    in_force: Mapping[PolicyKind, str]
    freeze: Freeze = NOTHING
    open_ports: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """How it went. `failure` says what was not recorded, empty when nothing was lost; `cut` counts what still went on
    after the agent's end; `seen` is what an enclosed agent did past the recorder.
    """

    run: str
    ended: Ended
    noticed: Noticed
    failure: str
    cut: int
    seen: Seen = field(default_factory=Seen)


async def record(plan: Plan, scribe: Scribe, authority: Authority) -> Recording:
    """Runs the agent with everything that it sends through a recorder, and closes its run.

    Raises AgentNotStarted, and what the recorder raises when it cannot listen.
    """
    owner = Owner()
    token = secrets.token_urlsafe(16)
    known = redact.secrets_of(os.environ)
    options = replace(
        plan.options,
        confdir=authority.folder,
        token=token,
        owns_port=owner.owns,
        owns_connection=owner.connects,
        route=upstream_proxy(os.environ).route,
        secrets=known,
    )
    recorder = Recorder(scribe, options)
    async with _started(recorder):
        await scribe.note(plan.in_force)
        redactor = redact.Redactor(known)
        opening = run_open(plan.introduction, plan.argv, Path.cwd(), os.environ, options.own_rules.version, redactor)
        run = recorder.open_run(opening, redactor)
        if plan.freeze.seed is not None:
            await scribe.append(run, draft("seed", plan.freeze.seed))
        await scribe.checkpoint()  # a store that takes nothing, or a missing key, must not be found out later
        with scratch() as folder:
            way = Way(recorder.port, run, token)
            pointed = base_variables(os.environ, recorder.bases, Say(run, token))
            icebox = Icebox(folder)
            extras = {**pointed, **icebox.saving(os.environ, plan.freeze), RUN_VARIABLE: run}
            environment = passage(os.environ, way, authority, folder, extras)
            cell = Cell(folder)
            argv, environment = _enclosed(plan, recorder, cell, environment)
            try:
                with running_agent(argv, environment) as agent:
                    owner.agent = agent
                    ended = await agent.wait()
                    clock, seen = icebox.clock(), cell.seen()
                remove_shared(agent.pid)
            except AgentNotStarted as error:
                await recorder.close_run(run, "agent_exit", error.exit_code)
                raise
        failure = await _keep(scribe, run, clock) if plan.freeze.library is not None else ""
        failure = await _close(recorder, run, ended) or failure
    counts = recorder.counts
    noticed = Noticed(counts.tunnels, counts.distrusted, ended.code)
    return Recording(run, ended, noticed, counts.last_failure or failure, counts.cut, seen)


@asynccontextmanager
async def _started(recorder: Recorder) -> AsyncIterator[None]:
    """Whatever ends the block ends the recorder. The first fault is told, not what follows from it."""
    await recorder.start()
    try:
        yield
    except BaseException:
        with suppress(EdgetapeError):
            await recorder.stop("operator")
        raise
    await recorder.stop("operator")


def _enclosed(
    plan: Plan, recorder: Recorder, cell: Cell, environment: dict[str, str]
) -> tuple[Sequence[str], dict[str, str]]:
    """What to start, and in which environment: the agent, or the cell that it is to run in."""
    if plan.open_ports is None:
        return plan.argv, environment
    ports = (recorder.port, *(base.listens for base in recorder.bases), *plan.open_ports)
    return cell.command(ports, plan.argv, environment), dict(os.environ)


async def _keep(scribe: Scribe, run: str, clock: bytes) -> str:
    """Keeps what the agent read from the clock; what a broken store says is told once the agent's end is known."""
    try:
        await scribe.append(run, draft("clock", clock))
    except StoreUnusable as error:
        return str(error)
    return ""


async def _close(recorder: Recorder, run: str, ended: Ended) -> str:
    """Ends the run; what a broken store says is told once the agent's own end is known."""
    try:
        await recorder.close_run(run, "agent_exit", ended.code)
    except StoreUnusable as error:
        return str(error)
    return ""
