"""`edgetape replay`: run an agent again, answered from a recording, with no way out."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import click

from proxy import loop, upkeep
from proxy.border import Misuse, Wrapper
from proxy.options import Shared, options
from proxy.settings import Local, OnDrift, OnMiss, Order
from proxy.talk import Talk

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
    no_map: bool
    optionals: Sequence[str]
    no_agent_rules: bool
    repeat_last: bool
    unverified: bool
    no_confine: bool
    allowed_ports: Sequence[int]
    as_json: bool
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
    "no-map",
    "no-confine",
    "allow-local",
    "json",
    "report",
    "junit",
)
@click.pass_context
def command(context: click.Context, run: str, argv: Sequence[str], **given: Unpack[Given]) -> int:
    """Run the recorded command of RUN again, or COMMAND, and answer it from the recording.

    Nothing that it asks for is fetched; where the system allows it, it has no network at all.
    """
    shared: Shared = context.obj
    # First of all: a process that has threads or an open store cannot be confined any more.
    from proxy.confinement import Unconfined, enter

    confinement = Unconfined("as asked") if given["no_confine"] else enter(given["allowed_ports"])

    from proxy.agent import AgentNotStarted
    from proxy.configuration import configured
    from proxy.ending import Outlets, tell
    from proxy.replaying import Stage, replay
    from proxy.revival import revival
    from replay_server.modes import NotAllowed, Pace
    from replay_server.normalise import Rules
    from replay_server.rules import BadRule
    from replay_server.server import ReplayOptions
    from store.authority import Authority
    from store.core import redact
    from store.reader import Reader

    standing = configured(shared.config, Path.cwd())
    ignored = (*standing.ignore, *given["ignored"])
    optional = (*standing.optional, *given["optionals"])
    try:
        Pace.parse(given["pace"])
        Rules.of(ignored, optional)
    except (BadRule, NotAllowed) as error:
        raise Misuse(str(error), hint=error.hint) from error
    talk = Talk.of(context)
    if isinstance(confinement, Unconfined) and not given["no_confine"]:
        talk.warn(f"the agent is not confined: {confinement.reason}", confinement.hint)
    authority = Authority.open_or_create(shared.authority)
    with Reader.open(shared.store) as reader:
        info = reader.find(run)
        revived = revival(reader, info, argv, os.environ)
        options = ReplayOptions(
            on_drift=given["on_drift"],
            on_miss=given["on_miss"],
            grace_s=given["grace"],
            order=given["order"],
            pace=given["pace"],
            local=given["local"],
            use_map=not given["no_map"],
            ignore=ignored,
            optional=optional,
            agent_rules=not given["no_agent_rules"],
            repeat_last=given["repeat_last"],
            unverified=given["unverified"],
            secrets=redact.secrets_of(revived.environment),
        )
        with upkeep.opened(talk, shared) as writer:
            stage = Stage(reader, writer, authority, confinement, given["allowed_ports"])
            try:
                report = loop.run(talk, replay(stage, info, revived, options))
            except AgentNotStarted as error:
                talk.error(str(error), error.hint)
                return error.exit_code
    return tell(talk, report, Outlets(given["report"], given["junit"], given["as_json"]))
