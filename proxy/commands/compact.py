"""`edgetape compact`: packs closed runs as tight as they get."""

from collections.abc import Iterable

import click

from proxy.border import Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.talk import Talk
from store.reader import Reader

_EPILOG = """\b
A run that is closed in order is packed so by itself; one that a crash ended is not, until it is asked for.
Nothing that a proof rests on is touched.
With --json: {runs: [{id, before_bytes, after_bytes, failure}], space_given_back}; failure is null or why a run stays
as it is.
"""


@click.command(cls=Verb, short_help="Pack closed runs tighter.", epilog=_EPILOG)
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@options("json")
@click.pass_context
def command(context: click.Context, runs: Iterable[str], as_json: bool) -> int:
    """Pack RUN, or all runs that are closed, tighter, and give freed space back."""
    from store.compaction import Compacted, compact

    shared: Shared = context.obj
    talk = Talk.of(context)
    with Reader.open(shared.store, shared.keys) as reader:
        ids = [reader.find(word).id for word in runs] or [run.id for run in reader.runs()]
    done: list[Compacted] = []

    def told(one: Compacted) -> None:
        done.append(one)
        if not as_json:
            click.echo(f"{one.run}: {one.failure or f'{one.before_bytes} -> {one.after_bytes} bytes'}")

    given_back = compact(shared.store, shared.keys, ids, told)
    if as_json:
        records = [
            {
                "id": one.run,
                "before_bytes": one.before_bytes,
                "after_bytes": one.after_bytes,
                "failure": one.failure or None,
            }
            for one in done
        ]
        click.echo(as_json_text({"runs": records, "space_given_back": given_back}))
    elif not done:
        talk.say("nothing to do: the runs are as tight as they get")
    if not given_back:
        talk.say("the store is in use: its file keeps the freed space, for what comes next")
    return 1 if any(one.failure for one in done) else 0
