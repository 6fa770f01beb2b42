"""`edgetape fork`: run an agent again up to a step, answer that otherwise, and let it go on from there."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from proxy.agent.bases import bases_in
from proxy.border import Misuse, Wrapper
from proxy.options import options
from proxy.outbound import verb
from proxy.settings import Local, OnDrift, Order
from proxy.talk import Talk

if TYPE_CHECKING:
    from proxy.outbound.voyage import Proposal

_EPILOG = """\b
Exit codes: the agent's own when nothing was held back; 43 refused (a request that no rule lets out, or an attempt to
get past edgetape); 1 you said no; 40 drifted, 41 unexpected before the step was reached; 42 the step was not reached;
125 edgetape itself failed; 126 the command cannot be executed; 127 it was not found; 2 usage.
\b
A value of --set that is no JSON is a string: --set /rows/0/severity=high
"""


class Given(verb.Given):
    """The options as click gives them."""

    at: int | None
    respond: Path | None
    status: int | None
    edits: Sequence[str]
    cut_after: int | None
    message: int | None
    live_step: bool
    allowed: Sequence[str]
    on_drift: OnDrift
    order: Order
    pace: str
    local: Local
    reverse: Sequence[str]
    junit: Path | None


@click.command(cls=Wrapper, short_help="Run an agent again, and let it go another way.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("argv", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@options(
    "at",
    "respond",
    "status",
    "set",
    "message",
    "cut-after",
    "live-step",
    "allow",
    "on-drift",
    "order",
    "pace",
    "local",
    "reverse",
    *verb.LIVE,
    "junit",
)
@click.pass_context
def command(context: click.Context, run: str, argv: Sequence[str], **given: Unpack[Given]) -> int:
    """Replay RUN up to step --at, answer that step as told, and go on from there.

    RUN may be a file that `edgetape pin` or `export` wrote: it is taken into the store first.

    After the step, requests to the recording's models go to the real servers; all others only where --allow lets
    them, else they are answered from the recording, or refused.
    """
    # First of all: a process that has threads or an open store cannot be confined any more.
    from proxy.outbound.voyage import Voyage

    proposal = _proposed(given)
    confinement = verb.kept_in(context.obj, "fork", given)

    from proxy.sessions.ending import Outlets

    replaying = replace(
        verb.replaying(given),
        on_drift=given["on_drift"],
        order=given["order"],
        pace=given["pace"],
        local=given["local"],
        bases=bases_in(given["reverse"]),
    )
    voyage = Voyage(run, argv, proposal, replaying, verb.terms(given))
    outlets = Outlets(given["report"], given["junit"], given["as_json"])
    return verb.concluded(Talk.of(context), context.obj, voyage, confinement, outlets)


def _proposed(given: Given) -> "Proposal":
    """What the command line says of the step and of what may leave. Raises Misuse."""
    from proxy.configuration import nearest, well_said
    from proxy.outbound.voyage import Proposal
    from replay_server.injection import Edit, Injection
    from replay_server.modes import Pace
    from replay_server.normalise import Rules
    from replay_server.plan import ForkPlan
    from replay_server.registry import Registry

    step, path, is_live = given["at"], given["respond"], bool(given["live_step"])
    if step is None:
        raise Misuse("say at which step the fork leaves the recording", hint="--at 8; `edgetape show RUN` numbers them")
    filed = nearest(Path.cwd()).allow
    with well_said():
        Pace.parse(given["pace"])
        Rules.of(given["ignored"])
        registry = Registry.of((*given["allowed"], *filed))
        edits = tuple(Edit.parse(text) for text in given["edits"])
    injection = Injection(None if path is None else path.read_bytes(), given["status"], edits, given["cut_after"])
    if injection.is_any == is_live:
        fault = "has two answers" if is_live else "has no other answer than the recorded one"
        raise Misuse(f"step {step} {fault}", hint="say --set, --respond, --status or --cut-after, or else --live-step")
    return Proposal(
        f"from step {step} on this may leave this machine:",
        registry,
        lambda whole: ForkPlan(step, whole, injection, is_live, given["message"]),
        since=step,
        filed=filed,
    )
