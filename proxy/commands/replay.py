"""`edgetape replay`: run an agent again, answered from a recording, with no way out."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from proxy import loop
from proxy.agent.bases import bases_in
from proxy.border import PARTED, Misuse, Wrapper
from proxy.options import Shared, options
from proxy.settings import Children, Local, OnDrift, OnMiss, Order
from proxy.stores import upkeep
from proxy.talk import Talk

if TYPE_CHECKING:
    from proxy.confined.confinement import Confinement, Unconfined
    from replay_server.options import ReplayOptions
    from replay_server.pause import Pause

_EPILOG = """\b
Exit codes: the agent's own when the replay is clean; 40 drifted or reordered; 41 unexpected or exhausted;
42 never requested; 43 refused (something tried to get out); 125 edgetape itself failed; 126 the command cannot
be executed; 127 it was not found; 2 usage.
--on-miss live and record let out what nothing recorded answers: model requests, and what --allow names; the new run is
then of mode fork.
The verdict in words is the last line of stderr. --json prints the report on stdout, after the agent's own output.
With --serve stdout has what a program's shell is to set; with --json one line {port, pid, run, environment} and, at the
end, the report. With RUN RUN... --serve it has a line for each run, its id and its agent's proxy URL; with --json one
line {port, pid, sessions}, a session being {replays, name, run, proxy, environment}, and at the end what regress
--json prints.
"""


class Given(TypedDict):
    """The options as click gives them."""

    on_drift: OnDrift
    on_miss: OnMiss
    allowed: Sequence[str]
    children: Children
    yes: bool
    upstream_ca: Path | None
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
    no_wait: bool
    unverified: bool
    no_confine: bool
    allowed_ports: Sequence[int]
    as_json: bool
    until: int | None
    each: bool
    control: int | None
    serve: bool
    port: int
    shell: str
    report: Path | None
    junit: Path | None


@click.command(cls=Wrapper, short_help="Run an agent again, from a recording.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("argv", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@options(
    "on-drift",
    "on-miss",
    "allow",
    "children",
    "yes",
    "upstream-ca",
    "order",
    "ignore",
    "optional",
    "no-agent-rules",
    "repeat-last",
    "no-wait",
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
    "serve",
    "port",
    "shell",
    "json",
    "report",
    "junit",
    port=0,
)
@click.pass_context
def command(context: click.Context, run: str, argv: Sequence[str], **given: Unpack[Given]) -> int:
    """Run the recorded command of RUN again, or COMMAND, and answer it from the recording.

    RUN may be a file that `edgetape pin` or `export` wrote; with --serve there may be several.

    Nothing that it asks for is fetched, unless --on-miss says so; where the system allows it, it has no network.
    """
    shared: Shared = context.obj
    from proxy.stores.reach import reach

    reach(shared, run, no_confine=given["no_confine"] or bool(given["serve"]))
    if given["on_miss"] != "fail":
        return _going_live(Talk.of(context), shared, run, argv, given)
    if given["serve"]:
        if argv and not context.meta[PARTED]:
            return _hosting(Talk.of(context), shared, (run, *argv), given)
        return _serving(Talk.of(context), shared, run, argv, given)
    # First of all: a process that has threads or an open store cannot be confined any more.
    from proxy.confined.confinement import Unconfined, enter
    from proxy.sessions.sitting import Sitting

    sitting = Sitting.of(until=given["until"], each=bool(given["each"]), port=given["control"])
    confinement = Unconfined("as asked") if given["no_confine"] else enter(given["allowed_ports"])

    from proxy.agent.revival import revival
    from proxy.sessions.ending import Outlets, say_past, tell
    from proxy.sessions.opening import refuse_unreached, replayed, warn_of_time
    from proxy.sessions.replaying import Stage, replay
    from proxy.sessions.sitting import attended
    from proxy.stores.tapes import placed
    from store.authority import Authority
    from store.core import redact
    from store.reader import Reader

    told = _told(given, None if sitting is None else sitting.pause)
    talk = Talk.of(context)
    _warn(talk, confinement, as_asked=given["no_confine"])
    with placed(talk, shared, run) as (place, word), Reader.open(place.store, place.keys) as reader:
        info = replayed(talk, reader, word)
        if given["until"] is not None:
            refuse_unreached(reader, info, given["until"])
        revived = revival(reader, info, argv, os.environ)
        warn_of_time(talk, revived)
        replaying = replace(told, secrets=redact.secrets_of(revived.environment))
        with upkeep.opened(talk, place) as writer:
            stage = Stage(
                reader, writer, Authority.open_or_create(shared.authority), confinement, given["allowed_ports"]
            )
            report = loop.run(talk, attended(talk, sitting, lambda: replay(stage, info, revived, replaying)))
    say_past(talk, stage.past)
    return tell(talk, report, Outlets(given["report"], given["junit"], given["as_json"]))


def _warn(talk: Talk, confinement: "Confinement | Unconfined", *, as_asked: bool) -> None:
    from proxy.confined.confinement import Unconfined

    if isinstance(confinement, Unconfined) and not as_asked:
        talk.warn(f"the agent is not confined: {confinement.reason}", confinement.hint)


def _serving(talk: Talk, shared: Shared, run: str, argv: Sequence[str], given: Given) -> int:
    """The same without a command: whoever is pointed at the server is answered."""
    from proxy.sessions.ending import Outlets, tell
    from proxy.sessions.serving import announced, served

    if argv:
        raise Misuse("--serve runs no command", hint="start the command by itself, with what --serve prints")
    told = _served(given)
    report = served(talk, shared, run, told, announced(talk, given["shell"], as_json=given["as_json"]))
    return tell(talk, report, Outlets(given["report"], given["junit"], given["as_json"]))


def _hosting(talk: Talk, shared: Shared, runs: Sequence[str], given: Given) -> int:
    """The same for many runs at once."""
    from proxy.sessions.batch import tell
    from proxy.sessions.ending import Outlets
    from proxy.sessions.hosting import announced, hosted

    outcomes = hosted(talk, shared, runs, _served(given), announced(talk, as_json=given["as_json"]))
    outlets = Outlets(given["report"], given["junit"], given["as_json"])
    return tell(talk, "replay --serve", outcomes, outlets, color=shared.color)


def _served(given: Given) -> "ReplayOptions":
    """What a server is told that runs no command. Raises Misuse."""
    if given["until"] or given["each"] or given["control"] is not None:
        raise Misuse("--serve does not pause", hint="take --until, --step and --control with a command")
    return replace(_told(given), listen_port=given["port"])


def _going_live(talk: Talk, shared: Shared, run: str, argv: Sequence[str], given: Given) -> int:
    """The same with what nothing recorded answers asked of the real servers, as far as the rules let it out."""
    # First of all: a process that has threads or an open store cannot be confined any more.
    from proxy.configuration import nearest, well_said
    from proxy.outbound import verb
    from proxy.outbound.voyage import Proposal, Terms, Voyage, confined
    from replay_server.modes import Policy, is_ci
    from replay_server.plan import MissPlan
    from replay_server.registry import Registry

    filed = nearest(Path.cwd()).allow
    with well_said():
        Policy(on_miss=given["on_miss"]).check(ci=is_ci(os.environ), goes_live=True)
        registry = Registry.of((*given["allowed"], *filed))
    if given["serve"] or given["until"] is not None or given["each"] or given["control"] is not None:
        raise Misuse("a replay that pauses, or only serves, does not go live", hint="take --on-miss fail")
    proposal = Proposal(
        "where nothing recorded answers this may leave this machine:",
        registry,
        lambda whole: MissPlan(whole, given["repeat_last"]),
        filed=filed,
    )
    told, ports = _told(given), given["allowed_ports"]
    confinement = confined("replay with --on-miss", ports, no_confine=given["no_confine"])

    from proxy.sessions.ending import Outlets

    terms = Terms(given["yes"], given["upstream_ca"], given["children"], ports)
    voyage = Voyage(run, argv, proposal, told, terms, takes_name=given["on_miss"] == "record")
    outlets = Outlets(given["report"], given["junit"], given["as_json"])
    return verb.concluded(talk, shared, voyage, confinement, outlets)


def _told(given: Given, pause: "Pause | None" = None) -> "ReplayOptions":
    """What the server is told. Raises Misuse."""
    from proxy.configuration import nearest, well_said
    from replay_server.modes import Pace
    from replay_server.normalise import Rules
    from replay_server.options import ReplayOptions

    configured = nearest(Path.cwd())
    ignored = (*configured.ignore, *given["ignored"])
    optional = (*configured.optional, *given["optionals"])
    with well_said():
        Pace.parse(given["pace"])
        Rules.of(ignored, optional)
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
        no_wait=given["no_wait"],
        unverified=given["unverified"],
        pause=pause,
    )
