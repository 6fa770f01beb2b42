"""`edgetape fork`: run an agent again up to a step, answer that otherwise, and let it go on from there."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from proxy import loop
from proxy.agent.bases import bases_in
from proxy.border import Misuse, Wrapper
from proxy.options import Shared, options
from proxy.settings import Local, OnDrift, Order
from proxy.stores import upkeep
from proxy.talk import Talk

if TYPE_CHECKING:
    from proxy.confined.confinement import Confinement, Unconfined
    from replay_server.injection import Injection
    from replay_server.options import ForkOptions
    from replay_server.registry import Registry
    from store.reader import Reader, RunInfo

DECLINED = 1

_EPILOG = """\b
Exit codes: the agent's own when nothing was held back; 43 refused (a request that no rule lets out, or an attempt to
get past edgetape); 1 you said no; 40 drifted, 41 unexpected before the step was reached; 42 the step was not reached;
125 edgetape itself failed; 126 the command cannot be executed; 127 it was not found; 2 usage.
\b
A value of --set that is no JSON is a string: --set /rows/0/severity=high
"""


@dataclass(frozen=True, slots=True)
class _Said:
    """What is to happen at which step, and the rules for what may leave."""

    step: int
    injection: "Injection"
    registry: "Registry"


class Given(TypedDict):
    """The options as click gives them."""

    at: int | None
    respond: Path | None
    status: int | None
    edits: Sequence[str]
    cut_after: int | None
    live_step: bool
    allowed: Sequence[str]
    yes: bool
    upstream_ca: Path | None
    on_drift: OnDrift
    order: Order
    ignored: Sequence[str]
    grace: float
    pace: str
    local: Local
    reverse: Sequence[str]
    unverified: bool
    no_confine: bool
    allowed_ports: Sequence[int]
    as_json: bool
    report: Path | None
    junit: Path | None


@click.command(cls=Wrapper, short_help="Run an agent again, and let it go another way.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("argv", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@options(
    "at",
    "respond",
    "status",
    "set",
    "cut-after",
    "live-step",
    "allow",
    "yes",
    "upstream-ca",
    "on-drift",
    "order",
    "ignore",
    "grace",
    "pace",
    "local",
    "reverse",
    "unverified",
    "no-confine",
    "allow-local",
    "json",
    "report",
    "junit",
)
@click.pass_context
def command(context: click.Context, run: str, argv: Sequence[str], **given: Unpack[Given]) -> int:
    """Replay RUN up to step --at, answer that step as told, and go on from there.

    After the step, requests to the recording's models go to the real servers; all others only where --allow lets
    them, else they are answered from the recording, or refused.
    """
    # First of all: a process that has threads or an open store cannot be confined any more.
    from proxy.confined.confinement import Unconfined, enter

    said = _said(given)
    confinement = Unconfined("as asked") if given["no_confine"] else enter(given["allowed_ports"], goes_live=True)
    if isinstance(confinement, Unconfined) and not given["no_confine"]:
        raise Misuse(
            f"a fork goes live, and the agent cannot be confined: {confinement.reason}",
            hint=confinement.hint or "--no-confine lets it run with the network it has",
        )

    from proxy.agent.process import AgentNotStarted
    from proxy.agent.revival import revival
    from proxy.configuration import nearest
    from proxy.sessions.ending import Outlets, tell
    from proxy.sessions.replaying import Stage, replay
    from replay_server.modes import NotAllowed
    from replay_server.server import ReplayOptions
    from store.authority import Authority
    from store.core import redact
    from store.reader import Reader

    shared: Shared = context.obj
    talk = Talk.of(context)
    with Reader.open(shared.store, shared.keys) as reader:
        info = reader.find(run)
        revived = revival(reader, info, argv, os.environ)
        fork = _agreed(talk, reader, info, said, given, confinement, revived.standins)
        if fork is None:
            talk.always("edgetape: nothing was started")
            return DECLINED
        options = ReplayOptions(
            on_drift=given["on_drift"],
            grace_s=given["grace"],
            order=given["order"],
            pace=given["pace"],
            local=given["local"],
            bases=bases_in(given["reverse"]),
            ignore=(*nearest(Path.cwd()).ignore, *given["ignored"]),
            optional=nearest(Path.cwd()).optional,
            secrets=redact.secrets_of(revived.environment),
            unverified=given["unverified"],
            fork=fork,
        )
        authority = Authority.open_or_create(shared.authority)
        with upkeep.opened(talk, shared) as writer:
            stage = Stage(reader, writer, authority, confinement, given["allowed_ports"])
            try:
                report = loop.run(talk, replay(stage, info, revived, options))
            except AgentNotStarted as error:
                talk.error(str(error), error.hint)
                return error.exit_code
            except NotAllowed as error:
                raise Misuse(str(error), hint=error.hint) from error
    return tell(talk, report, Outlets(given["report"], given["junit"], given["as_json"]))


def _said(given: Given) -> _Said:
    """What the command line says of the step and of what may leave. Raises Misuse."""
    from replay_server.injection import Edit, Injection
    from replay_server.modes import NotAllowed, Pace
    from replay_server.normalise import Rules
    from replay_server.registry import Registry
    from replay_server.rules import BadRule

    step, path = given["at"], given["respond"]
    if step is None:
        raise Misuse("say at which step the fork leaves the recording", hint="--at 8; `edgetape show RUN` numbers them")
    try:
        Pace.parse(given["pace"])
        Rules.of(given["ignored"])
        registry = Registry.of(given["allowed"])
        edits = tuple(Edit.parse(text) for text in given["edits"])
    except (BadRule, NotAllowed) as error:
        raise Misuse(str(error), hint=error.hint) from error
    body = None if path is None else path.read_bytes()
    injection = Injection(body, given["status"], edits, given["cut_after"])
    if injection.is_any == bool(given["live_step"]):
        fault = "has two answers" if given["live_step"] else "has no other answer than the recorded one"
        raise Misuse(f"step {step} {fault}", hint="say --set, --respond, --status or --cut-after, or else --live-step")
    return _Said(step, injection, registry)


def _agreed(
    talk: Talk,
    reader: "Reader",
    run: "RunInfo",
    said: _Said,
    given: Given,
    confinement: "Confinement | Unconfined",
    standins: Sequence[str],
) -> "ForkOptions | None":
    """What the server is told of the fork, once somebody has agreed to what may leave; else None."""
    from proxy.confined.confinement import Unconfined
    from proxy.outbound import consent
    from proxy.outbound.dial import route_of
    from proxy.outbound.ferry import Ferry, reach
    from replay_server.options import ForkOptions
    from store import trust
    from store.exchange import exchanges

    servers = consent.model_servers(exchanges(reader.events(run.id)), said.step)
    registry = said.registry.with_models((server.host, server.port) for server in servers)
    if not consent.agree(talk, consent.announcement(said.step, servers, registry), yes=given["yes"]):
        return None
    ferry = None if isinstance(confinement, Unconfined) else confinement.ferry
    return ForkOptions(
        step=said.step,
        registry=registry,
        dial=reach(route_of(os.environ)) if ferry is None else Ferry(ferry).dial,
        roots=trust.server_roots(os.environ, given["upstream_ca"]),
        injection=said.injection,
        is_step_live=bool(given["live_step"]),
        standins=standins,
    )
