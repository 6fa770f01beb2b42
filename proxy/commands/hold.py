"""`edgetape hold`: nothing of a run is erased until the hold is released."""

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.stores import upkeep
from proxy.talk import Talk
from store.core.leaf import HoldReleased, HoldSet
from store.reader import Reader


@click.command(cls=Verb, short_help="Keep a run from being erased.")
@click.argument("run", metavar="RUN")
@options("release", "why", "by")
@click.pass_context
def command(context: click.Context, run: str, release: bool, reason: str | None, by: str) -> int:
    """Keep the bodies of RUN from being erased, on record."""
    if not reason:
        raise Misuse("a hold needs a reason", hint="--reason WORDS; it is kept in the log for ever")
    shared: Shared = context.obj
    with Reader.open(shared.store, shared.keys) as reader:
        found = reader.find(run).id
    talk = Talk.of(context)
    with upkeep.opened(talk, shared) as writer:
        kind = HoldReleased if release else HoldSet
        writer.hold(kind(run=found, by=by, reason=reason)).result()
    talk.say(f"run {found} may be erased again" if release else f"run {found} is held")
    return 0
