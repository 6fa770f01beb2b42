"""`edgetape record`: run an agent and record every exchange it has with the outside."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from proxy.agent.bases import bases_in
from proxy.border import OUR_FAILURE, Misuse, Wrapper
from proxy.loop import run
from proxy.options import Shared, options
from proxy.settings import Durability, Local, OnDistrust, OnStoreFailure
from proxy.stores import anchoring, upkeep
from proxy.talk import Talk
from store.clerk.hiring import Hired, hired

if TYPE_CHECKING:
    from addons.options import RecorderOptions
    from proxy.agent.freezing import Freeze
    from store.core.base import Base

REFUSED = 43  # as a replay has it

_EPILOG = """\b
Exit codes: the agent's own; 43 with --enforce, something tried to get past the recorder; 125 edgetape itself failed;
126 the command cannot be executed; 127 it was not found; 2 usage.
"""


class RecorderGiven(TypedDict):
    """The options that the recorder is told, as click gives them."""

    upstream_ca: Path | None
    durability: Durability
    on_store_failure: OnStoreFailure
    local: Local
    passthrough: Sequence[str]
    on_distrust: OnDistrust
    max_body: int
    port: int


class Given(RecorderGiven, anchoring.Given):
    """The options as click gives them."""

    name: str | None
    workflow: str | None
    labels: Sequence[str]
    reverse: Sequence[str]
    enforce: bool
    allowed_ports: Sequence[int]
    freeze_time: bool
    freeze_random: bool


@click.command(
    cls=Wrapper,
    short_help="Run an agent and record it.",
    epilog=_EPILOG,
    context_settings={"allow_interspersed_args": False},
)
@click.argument("argv", metavar="[--] COMMAND...", nargs=-1, type=click.UNPROCESSED)
@options(
    "name",
    "workflow",
    "label",
    "upstream-ca",
    "durability",
    "on-store-failure",
    "local",
    "passthrough",
    "on-distrust",
    "max-body",
    "port",
    "reverse",
    "enforce",
    "allow-local",
    "freeze-time",
    "freeze-random",
    "tsa",
    "tsa-ca",
    "witness",
    "anchor-every",
    durability="strict",
    port=0,
)
@click.pass_context
def command(context: click.Context, argv: Sequence[str], **given: Unpack[Given]) -> int:
    """Record a run of COMMAND.

    The command keeps its stdin, stdout, stderr, terminal, signals and exit code.
    """
    if not argv:
        raise Misuse("no command to record", hint="edgetape record -- python my_agent.py")
    open_ports = _open_ports(given)  # tried in a child, so before anything starts a thread
    with hired() as clerk:  # it loads what it needs while this process does
        return _recorded(context, argv, given, open_ports, clerk)


def _recorded(
    context: click.Context, argv: Sequence[str], given: Given, open_ports: Sequence[int] | None, clerk: Hired
) -> int:
    # Loaded here: mitmproxy takes a second, and no other verb should wait for it.
    from proxy import pace
    from proxy.agent.identity import Introduction, parent_in
    from proxy.agent.process import refuse_unstartable
    from proxy.sessions.closing import say_recorded
    from proxy.sessions.opening import join_replay, labelled, named, warn_of_proxy
    from proxy.sessions.recording import Plan, record
    from proxy.stores.policy import in_force
    from store.authority import Authority

    shared: Shared = context.obj
    bases = bases_in(given["reverse"])
    introduction = Introduction(
        name=named("name", given["name"]),
        workflow=named("workflow", given["workflow"]),
        labels=labelled(given["labels"]),
        parent=parent_in(shared.store, shared.keys, os.environ),
        bases=bases,
    )
    recorder = recorder_options(shared, given, bases)
    talk = Talk.of(context)
    join_replay(talk, argv, os.environ)
    refuse_unstartable(argv, os.environ)
    authority = Authority.open_or_create(shared.authority)
    plan = Plan(argv, introduction, recorder, in_force(shared), _freeze(talk, argv, given), open_ports)
    unanchored: list[tuple[str, str]] = []
    rounds = anchoring.rounds_of(shared, given, lambda *said: unanchored.append(said))
    with contextlib.closing(rounds), upkeep.scribe(talk, shared, clerk) as scribe:
        rounds.begin()
        warn_of_proxy(talk, os.environ)
        pace.settle()
        recording = run(talk, record(plan, scribe, authority))
    for sentence, hint in unanchored:  # while it ran, the terminal was the agent's
        talk.warn(sentence, hint)
    say_recorded(talk, shared.store, shared.keys, recording)
    if recording.failure:
        return OUR_FAILURE
    return REFUSED if recording.seen.attempts else recording.ended.code


def _open_ports(given: Given) -> Sequence[int] | None:
    """The ports that an enclosed agent may reach besides the recorder's; None for one that is not. Raises Misuse."""
    if not given["enforce"]:
        if given["allowed_ports"]:
            raise Misuse("--allow-local is for an agent that has no way out", hint="add --enforce")
        return None
    from proxy.confined.confinement import refusal

    refused = refusal()
    if refused is not None:
        raise Misuse(f"--enforce: {refused.reason}", hint=refused.hint or "record without it")
    return tuple(given["allowed_ports"])


def _freeze(talk: Talk, argv: Sequence[str], given: Given) -> "Freeze":
    """What is to be frozen. Raises Misuse."""
    from proxy.agent import freezing

    library = freezing.library() if given["freeze_time"] else None
    if given["freeze_time"] and library is None:
        raise Misuse("--freeze-time needs libfaketime, which is not installed here", hint=freezing.LIBRARY_HINT)
    if given["freeze_time"] and freezing.is_hung_by_time(argv):
        raise Misuse("--freeze-time is not for Java: a JVM hangs under libfaketime")
    if given["freeze_time"] and freezing.keeps_its_own_clock(argv):
        talk.warn(
            f"{argv[0]} is linked statically, or runs Go: its clock is not frozen",
            "an agent may ask for the time instead: http://edgetape.internal/v1/now",
        )
    if given["freeze_random"] and given["passthrough"]:
        raise Misuse(
            "--freeze-random and --passthrough do not go together", hint="what passes unopened cannot be replayed"
        )
    language = freezing.takes_its_own_chance(argv) if given["freeze_random"] else ""
    if language:
        talk.warn(f"{language} takes its chance elsewhere: --freeze-random is for Python, Node and Bun")
    return freezing.Freeze(library, freezing.new_seed() if given["freeze_random"] else None)


def recorder_options(shared: Shared, given: RecorderGiven, bases: Sequence["Base"]) -> "RecorderOptions":
    """What the recorder is told."""
    from addons.options import MIB, RecorderOptions
    from proxy import pace
    from proxy.sessions.opening import places
    from proxy.stores.policy import own_rules

    return RecorderOptions(
        own_rules=own_rules(shared, Path.cwd()),
        confdir=shared.authority,
        listen_port=given["port"],
        bases=tuple(bases),
        upstream_ca=given["upstream_ca"],
        durability=given["durability"],
        on_store_failure=given["on_store_failure"],
        local=given["local"],
        passthrough=places(given["passthrough"]),
        on_distrust=given["on_distrust"],
        body_bytes_max=given["max_body"] * MIB,
        spool_folder=shared.store,
        inline_hooks=not pace.is_plain(),
    )
