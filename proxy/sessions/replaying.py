"""One replay: the replay server, the agent under it, and the end of both."""

import asyncio
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from proxy import pace
from proxy.agent.bases import Say, base_variables
from proxy.agent.freezing import Icebox, remove_shared
from proxy.agent.identity import RUN_VARIABLE, Introduction, run_open
from proxy.agent.owner import Owner
from proxy.agent.passage import Files, Way, passage
from proxy.agent.process import Agent, Ended, running_agent
from proxy.agent.revival import Revival
from proxy.confined.confinement import Confinement, Unconfined
from proxy.sessions.opening import REPLAY_VARIABLE
from proxy.settings import NO_TOKEN
from replay_server.collection import no_collection
from replay_server.report import Report
from replay_server.server import ReplayOptions, ReplayServer
from store.authority import Authority
from store.core.draft import Draft
from store.core.model import Mode, Parent
from store.core.redact import Redactor
from store.labels.classify import RULES
from store.reader import Reader, RunInfo
from store.scratch import scratch
from store.writer import Writer

KILL_GRACE_S = 5.0
TOKEN_BYTES = 16
_NAMELESS = Introduction()  # the name of the recorded run must go on to mean the recorded run


@dataclass(frozen=True, slots=True)
class Stage:
    """What a replay plays on: the stores' two ends, the authority, and what keeps the agent in.

    `past` gets how often the clock was read after the recorded readings were used up.
    """

    reader: Reader
    writer: Writer
    authority: Authority
    confinement: Confinement | Unconfined
    allowed_ports: Sequence[int] = ()
    past: list[int] = field(default_factory=list)

    def attempts(self) -> list[str]:
        """What tried to get out, in words."""
        if isinstance(self.confinement, Unconfined):
            return []
        return [str(attempt) for attempt in self.confinement.attempts()]


async def replay(
    stage: Stage, run: RunInfo, revival: Revival, options: ReplayOptions, about: Introduction = _NAMELESS
) -> Report:
    """Runs the agent with everything that it asks for answered from `run`, or live as far as a live mode goes.

    `about` gives the new run a name and labels. Raises AgentNotStarted, and what the server raises when it cannot
    listen.
    """
    owner, pause = Owner(), options.pause
    own = replace(
        options, owns_port=owner.owns, owns_connection=owner.connects, token=secrets.token_urlsafe(TOKEN_BYTES)
    )
    with no_collection():  # until what is loaded is no more looked at
        server = server_of(stage, run, revival, own, about)
        await server.start()
        pace.keep_what_is_loaded()
    ended: Ended | None = None
    try:
        with scratch() as folder, _watched(stage):
            icebox = Icebox(folder)
            # Ids that were drawn again would collide at servers that are asked for real.
            freeze = revival.freeze if options.live is None else replace(revival.freeze, seed=None)
            given = icebox.giving(revival.environment, freeze, revival.clock)
            environment = surroundings(server, run, revival, stage.authority, folder) | given
            with running_agent(revival.argv, environment, revival.folder) as agent:
                owner.agent = agent
                ended = await _until_end(agent, server.stopped, options.grace_s, pause.quit if pause else None)
            remove_shared(agent.pid)
            stage.past.append(icebox.readings_past())
    finally:
        confined = isinstance(stage.confinement, Confinement)
        exit_code = None if ended is None else ended.code
        report = await server.stop(exit_code, stage.attempts(), confined=confined, allowed=stage.allowed_ports)
    return report


def server_of(
    stage: Stage, run: RunInfo, revival: Revival, options: ReplayOptions, about: Introduction = _NAMELESS
) -> ReplayServer:
    """A replay server that is still to be started, whose own run says what it replays for whom."""
    redactor = Redactor(options.secrets)
    bases = options.bases or revival.bases

    def opening(parent: Parent) -> Draft:
        mode: Mode = "replay" if options.live is None else options.live.plan.mode
        introduction = replace(about, mode=mode, workflow=run.workflow or None, parent=parent, bases=bases)
        folder = revival.folder or Path.cwd()
        rules = RULES if options.live is None else options.live.own.version
        return run_open(introduction, revival.argv, folder, revival.environment, rules, redactor)

    told = replace(options, bases=bases, opening=opening, redactor=redactor)
    return ReplayServer(stage.reader, stage.writer, run, stage.authority, told)


def surroundings(
    server: ReplayServer, run: RunInfo, revival: Revival, authority: Authority, place: Path | Files
) -> dict[str, str]:
    """The environment of a program that a started server answers; its files are written to `place`, or are there."""
    token = server.options.token
    way = Way(server.port, run.id, token or NO_TOKEN)
    pointed = base_variables(revival.environment, server.bases, Say(run.id, token) if token else None)
    extras = {**pointed, RUN_VARIABLE: server.run, REPLAY_VARIABLE: run.id}
    return passage(revival.environment, way, authority, place, extras)


async def _until_end(agent: Agent, stopped: asyncio.Event, grace_s: float, quits: asyncio.Event | None) -> Ended:
    """Waits for the agent; after the replay has stopped it, only so long; when a person `quits`, no longer."""
    ending = asyncio.create_task(agent.wait())
    stopping = [asyncio.create_task(event.wait()) for event in (stopped, quits) if event is not None]
    await asyncio.wait({ending, *stopping}, return_when=asyncio.FIRST_COMPLETED)
    for task in stopping:
        task.cancel()
    if not ending.done() and not (quits is not None and quits.is_set()):
        await asyncio.wait({ending}, timeout=grace_s)
    if not ending.done():
        await agent.terminate(KILL_GRACE_S)
    return await ending


@contextmanager
def _watched(stage: Stage) -> Iterator[None]:
    """Reads attempts as they come, so that the kernel never has to drop one."""
    if isinstance(stage.confinement, Unconfined):
        yield
        return
    loop, confinement = asyncio.get_running_loop(), stage.confinement
    loop.add_reader(confinement.fileno(), confinement.attempts)
    try:
        yield
    finally:
        loop.remove_reader(confinement.fileno())
