"""`edgetape sandbox`: run an agent again, with fakes in place of some servers and no way to any other."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from proxy.border import Misuse, Wrapper
from proxy.options import options
from proxy.outbound import verb
from proxy.talk import Talk

if TYPE_CHECKING:
    from proxy.outbound.voyage import Proposal

_EPILOG = """\b
    edgetape sandbox contract --map 'db.example.com=http://127.0.0.1:9000' -- python my_agent.py
\b
Exit codes: the agent's own; 41 it asked for what neither a fake nor the recording answers, and the sandbox ended;
43 refused (something was held back, or tried to get past edgetape); 1 you said no; 125 edgetape itself failed;
126 the command cannot be executed; 127 it was not found; 2 usage.
"""


class Given(verb.Given):
    """The options as click gives them."""

    fakes: Sequence[str]
    live_models: bool
    repeat_last: bool
    pace: str
    junit: Path | None


@click.command(cls=Wrapper, short_help="Run an agent again, against fakes alone.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("argv", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@options("map", "live-models", "repeat-last", "pace", *verb.LIVE, "junit")
@click.pass_context
def command(context: click.Context, run: str, argv: Sequence[str], **given: Unpack[Given]) -> int:
    """Run the command of RUN again, or COMMAND: what --map names goes to fakes, the rest comes from the recording.

    Nothing else can be reached, but the recording's models with --live-models.
    """
    # First of all: a process that has threads or an open store cannot be confined any more.
    from proxy.outbound.voyage import Voyage

    proposal = _proposed(given)
    confinement = verb.kept_in(context.obj, "sandbox", given)

    from proxy.sessions.ending import Outlets

    replaying = replace(verb.replaying(given), order="any", pace=given["pace"])
    voyage = Voyage(run, argv, proposal, replaying, verb.terms(given))
    outlets = Outlets(given["report"], given["junit"], given["as_json"])
    return verb.concluded(Talk.of(context), context.obj, voyage, confinement, outlets)


def _proposed(given: Given) -> "Proposal":
    """What the command line says of what may leave. Raises Misuse."""
    from proxy.configuration import nearest, well_said
    from proxy.outbound.voyage import Proposal
    from replay_server.modes import Pace
    from replay_server.normalise import Rules
    from replay_server.plan import SandboxPlan
    from replay_server.registry import Registry
    from replay_server.ventures.sandbox import Fakes

    configured = nearest(Path.cwd())
    with well_said():
        Pace.parse(given["pace"])
        Rules.of(given["ignored"])
        fakes = Fakes.of((*given["fakes"], *configured.map))
    if not fakes.rows:
        raise Misuse("a sandbox needs to know who plays whom", hint="--map 'api.example.com=http://127.0.0.1:9000'")
    return Proposal(
        "this may leave this machine, or reach a server on it:",
        Registry(),
        lambda whole: SandboxPlan(fakes, whole, given["repeat_last"]),
        asks_models=given["live_models"],
        fakes=fakes,
    )
