"""`edgetape rebase`: accept an intended drift by recording the changed agent anew, under the same name."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import click

from proxy import pace
from proxy.border import OUR_FAILURE, Misuse, Wrapper
from proxy.commands.record import RecorderGiven, recorder_options
from proxy.loop import run as run_loop
from proxy.options import Shared, options
from proxy.stores import upkeep
from proxy.talk import Talk

if TYPE_CHECKING:
    from proxy.agent.freezing import Freeze
    from proxy.agent.identity import Introduction
    from proxy.agent.revival import Revival
    from store.reader import RunInfo

_EPILOG = """\b
The agent runs live, as `edgetape record` runs it, after you said so: what it did the last time is told, and asked;
without a terminal it wants --yes. Time and chance are frozen where they were. The old run stays; the new one has its
name and workflow, and it as its parent: `edgetape replay NAME` means the new one from now on.
Exit codes: as `edgetape record` has them; 1 you said no.
"""


@dataclass(frozen=True, slots=True)
class _Old:
    """The run that is rebased, what is run instead, what the new run says of itself; `last` tells what was done."""

    info: "RunInfo"
    revived: "Revival"
    introduction: "Introduction"
    last: Sequence[str]


class Given(RecorderGiven):
    """The options as click gives them."""

    yes: bool


@click.command(cls=Wrapper, short_help="Record a changed agent anew, under the same name.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("argv", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@options(
    "upstream-ca",
    "durability",
    "on-store-failure",
    "local",
    "passthrough",
    "on-distrust",
    "max-body",
    "port",
    "yes",
    durability="strict",
    port=0,
)
@click.pass_context
def command(context: click.Context, run: str, argv: Sequence[str], **given: Unpack[Given]) -> int:
    """Record the command of RUN again, or COMMAND, live, as the run that takes RUN's place; then say what differs."""
    from proxy.outbound.consent import agree
    from proxy.outbound.voyage import declined
    from proxy.sessions.closing import say_recorded
    from proxy.sessions.opening import refuse_in_replay, warn_of_proxy, warn_of_time
    from proxy.sessions.recording import Plan, record
    from proxy.stores.policy import in_force
    from store import trust
    from store.authority import Authority

    refuse_in_replay(os.environ)
    shared: Shared = context.obj
    talk = Talk.of(context)
    old = _old(shared, run, argv)
    freeze = _freeze(old.revived, given)
    recorder = recorder_options(shared, given, old.introduction.bases)
    trust.server_roots(os.environ, given["upstream_ca"])
    if not agree(talk, old.last, yes=given["yes"]):
        return declined(talk)
    warn_of_time(talk, old.revived)
    if old.revived.folder is not None:
        os.chdir(old.revived.folder)
    authority = Authority.open_or_create(shared.authority)
    plan = Plan(old.revived.argv, old.introduction, recorder, in_force(shared), freeze)
    with upkeep.scribe(talk, shared) as scribe:
        warn_of_proxy(talk, os.environ)
        pace.settle()
        recording = run_loop(talk, record(plan, scribe, authority))
    say_recorded(talk, shared.store, shared.keys, recording)
    _say_differences(talk, shared, old.info.id, recording.run)
    return OUR_FAILURE if recording.failure else recording.ended.code


def _old(shared: Shared, word: str, argv: Sequence[str]) -> _Old:
    """What is rebased. Raises Misuse, AgentNotStarted, and what the store raises."""
    from proxy.agent.identity import Introduction
    from proxy.agent.process import refuse_unstartable
    from proxy.agent.revival import revival
    from proxy.outbound.consent import rehearsed
    from store.core.model import Parent
    from store.exchange import exchanges
    from store.reader import Reader

    with Reader.open(shared.store, shared.keys) as reader:
        info = reader.find(word)
        revived = revival(reader, info, argv, os.environ)
        refuse_unstartable(revived.argv, os.environ, revived.folder)
        seq = info.events - 1
        parent = Parent(run=info.id, seq=seq, event_hash=reader.event_hash(info.id, seq).hex())
        last = tuple(rehearsed(exchanges(reader.events(info.id)), reader))
    introduction = Introduction(
        name=info.name or None, workflow=info.workflow or None, parent=parent, bases=revived.bases
    )
    return _Old(info, revived, introduction, last)


def _freeze(revived: "Revival", given: Given) -> "Freeze":
    """Freezes what was frozen, for a replay of the new run is to be as quiet as one of the old. Raises Misuse."""
    from proxy.agent.freezing import Freeze, new_seed

    if revived.freeze.seed is None:
        return revived.freeze
    if given["passthrough"]:
        raise Misuse(
            "chance was frozen, and --passthrough does not go with that", hint="what passes unopened cannot be replayed"
        )
    return Freeze(revived.freeze.library, new_seed())


def _say_differences(talk: Talk, shared: Shared, old: str, new: str) -> None:
    from proxy.views import comparing
    from replay_server.normalise import Rules
    from store.reader import Reader

    with Reader.open(shared.store, shared.keys) as reader:
        entries = comparing.compared(reader, reader.run(old), reader.run(new), Rules())
    talk.say(f"edgetape: against {old}: {comparing.summary(entries)}")
    talk.say(f"next: edgetape diff {old} {new}")
