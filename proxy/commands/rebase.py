"""`edgetape rebase`: accept an intended drift by recording the changed agent anew, under the same name."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from proxy.border import OUR_FAILURE, Wrapper
from proxy.commands.record import RecorderGiven, recorder_options
from proxy.loop import run as run_loop
from proxy.options import Shared, options
from proxy.stores import upkeep
from proxy.talk import Talk

if TYPE_CHECKING:
    from proxy.agent.identity import Introduction
    from store.reader import RunInfo

_EPILOG = """\b
The agent runs live, as `edgetape record` runs it. The old run stays; the new one has its name and workflow, and it
as its parent: `edgetape replay NAME` means the new one from now on.
Exit codes: as `edgetape record` has them.
"""


@dataclass(frozen=True, slots=True)
class _Old:
    """The run that is rebased, what is run instead, and what the new run says of itself."""

    info: "RunInfo"
    argv: tuple[str, ...]
    folder: Path | None
    introduction: "Introduction"


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
    durability="strict",
    port=0,
)
@click.pass_context
def command(context: click.Context, run: str, argv: Sequence[str], **given: Unpack[RecorderGiven]) -> int:
    """Record the command of RUN again, or COMMAND, live, as the run that takes RUN's place; then say what differs."""
    from proxy.agent.process import AgentNotStarted, refuse_unstartable
    from proxy.sessions.closing import say_recorded
    from proxy.sessions.recording import Plan, record
    from proxy.stores.policy import in_force
    from store.authority import Authority

    shared: Shared = context.obj
    talk = Talk.of(context)
    old = _old(shared, run, argv)
    try:
        if old.folder is not None:
            os.chdir(old.folder)
        refuse_unstartable(old.argv, os.environ)
        authority = Authority.open_or_create(shared.authority)
        recorder = recorder_options(shared, given, old.introduction.bases)
        plan = Plan(old.argv, old.introduction, recorder, in_force(shared))
        with upkeep.opened(talk, shared) as writer:
            recording = run_loop(talk, record(plan, writer, authority))
    except AgentNotStarted as error:
        talk.error(str(error), error.hint)
        return error.exit_code
    say_recorded(talk, shared.store, shared.keys, recording)
    _say_differences(talk, shared, old.info.id, recording.run)
    return OUR_FAILURE if recording.failure else recording.ended.code


def _old(shared: Shared, word: str, argv: Sequence[str]) -> _Old:
    from proxy.agent.identity import Introduction
    from proxy.agent.revival import revival
    from store.core.model import Parent
    from store.reader import Reader

    with Reader.open(shared.store, shared.keys) as reader:
        info = reader.find(word)
        revived = revival(reader, info, argv, os.environ)
        last = info.events - 1
        parent = Parent(run=info.id, seq=last, event_hash=reader.event_hash(info.id, last).hex())
    introduction = Introduction(
        name=info.name or None, workflow=info.workflow or None, parent=parent, bases=revived.bases
    )
    return _Old(info, revived.argv, revived.folder, introduction)


def _say_differences(talk: Talk, shared: Shared, old: str, new: str) -> None:
    from proxy.views import comparing
    from replay_server.normalise import Rules
    from store.reader import Reader

    with Reader.open(shared.store, shared.keys) as reader:
        entries = comparing.compared(reader, reader.run(old), reader.run(new), Rules())
    talk.say(f"edgetape: against {old}: {comparing.summary(entries)}")
    talk.say(f"next: edgetape diff {old} {new}")
