"""`edgetape replay`: run an agent again, answered from a recording, with no way out."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from proxy import loop
from proxy.agent.bases import bases_in
from proxy.border import Misuse, Wrapper
from proxy.options import Shared, options
from proxy.settings import Local, OnDrift, OnMiss, Order
from proxy.stores import upkeep
from proxy.talk import Talk

if TYPE_CHECKING:
    from proxy.confined.confinement import Confinement, Unconfined
    from proxy.sessions.sitting import Sitting
    from replay_server.server import ReplayOptions

_EPILOG = """\b
Exit codes: the agent's own when the replay is clean; 40 drifted or reordered; 41 unexpected or exhausted;
42 never requested; 43 refused (something tried to get out); 125 edgetape itself failed; 126 the command cannot
be executed; 127 it was not found; 2 usage.
The verdict in words is the last line of stderr. --json prints the report on stdout, after the agent's own output.
"""


class Given(TypedDict):
    """The options as click gives them."""

    on_drift: OnDrift
    on_miss: OnMiss
    order: Order
    ignored: Sequence[str]
    grace: float
    pace: str
    local: Local
    reverse: Sequence[str]
    no_map: bool
    optionals: Sequence[str]
    no_agent_rules: bool
    repeat_last: bool
    unverified: bool
    no_confine: bool
    allowed_ports: Sequence[int]
    as_json: bool
    until: int | None
    each: bool
    control: int | None
    report: Path | None
    junit: Path | None


@click.command(cls=Wrapper, short_help="Run an agent again, from a recording.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("argv", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@options(
    "on-drift",
    "on-miss",
    "order",
    "ignore",
    "optional",
    "no-agent-rules",
    "repeat-last",
    "unverified",
    "grace",
    "pace",
    "local",
    "reverse",
    "no-map",
    "no-confine",
    "allow-local",
    "until",
    "each",
    "control",
    "json",
    "report",
    "junit",
)
@click.pass_context
def command(context: click.Context, run: str, argv: Sequence[str], **given: Unpack[Given]) -> int:
    """Run the recorded command of RUN again, or COMMAND, and answer it from the recording.

    RUN may be a file that `edgetape pin` or `export` wrote.

    Nothing that it asks for is fetched; where the system allows it, it has no network at all.
    """
    shared: Shared = context.obj
    # First of all: a process that has threads or an open store cannot be confined any more.
    from proxy.confined.confinement import Unconfined, enter
    from proxy.sessions.sitting import Sitting

    sitting = Sitting.of(until=given["until"], each=bool(given["each"]), port=given["control"])
    confinement = Unconfined("as asked") if given["no_confine"] else enter(given["allowed_ports"])

    from proxy.agent.process import AgentNotStarted
    from proxy.agent.revival import revival
    from proxy.configuration import nearest
    from proxy.sessions.ending import Outlets, tell
    from proxy.sessions.opening import replayed
    from proxy.sessions.replaying import Stage, replay
    from proxy.sessions.sitting import attended
    from proxy.stores.tapes import placed
    from replay_server.modes import NotAllowed, Pace
    from replay_server.normalise import Rules
    from replay_server.rules import BadRule
    from store.authority import Authority
    from store.core import redact
    from store.reader import Reader

    configured = nearest(Path.cwd())
    ignored = (*configured.ignore, *given["ignored"])
    optional = (*configured.optional, *given["optionals"])
    try:
        Pace.parse(given["pace"])
        Rules.of(ignored, optional)
    except (BadRule, NotAllowed) as error:
        raise Misuse(str(error), hint=error.hint) from error
    talk = Talk.of(context)
    _warn(talk, confinement, as_asked=given["no_confine"])
    with placed(talk, shared, run) as (place, word), Reader.open(place.store, place.keys) as reader:
        info = replayed(talk, reader, word)
        revived = revival(reader, info, argv, os.environ)
        options = _told(given, ignored, optional, redact.secrets_of(revived.environment), sitting)
        with upkeep.opened(talk, place) as writer:
            stage = Stage(
                reader, writer, Authority.open_or_create(shared.authority), confinement, given["allowed_ports"]
            )
            try:
                report = loop.run(talk, attended(talk, sitting, lambda: replay(stage, info, revived, options)))
            except AgentNotStarted as error:
                talk.error(str(error), error.hint)
                return error.exit_code
    return tell(talk, report, Outlets(given["report"], given["junit"], given["as_json"]))


def _warn(talk: Talk, confinement: "Confinement | Unconfined", *, as_asked: bool) -> None:
    from proxy.confined.confinement import Unconfined

    if isinstance(confinement, Unconfined) and not as_asked:
        talk.warn(f"the agent is not confined: {confinement.reason}", confinement.hint)


def _told(
    given: Given, ignored: Sequence[str], optional: Sequence[str], secrets: Sequence[str], sitting: "Sitting | None"
) -> "ReplayOptions":
    """What the server is told."""
    from replay_server.server import ReplayOptions

    return ReplayOptions(
        on_drift=given["on_drift"],
        on_miss=given["on_miss"],
        grace_s=given["grace"],
        order=given["order"],
        pace=given["pace"],
        local=given["local"],
        bases=bases_in(given["reverse"]),
        use_map=not given["no_map"],
        ignore=ignored,
        optional=optional,
        agent_rules=not given["no_agent_rules"],
        repeat_last=given["repeat_last"],
        unverified=given["unverified"],
        secrets=secrets,
        pause=None if sitting is None else sitting.pause,
    )
