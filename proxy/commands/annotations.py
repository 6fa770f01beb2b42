"""`edgetape annotations`: what people said about a run (docs/annotations.md)."""

import click

from proxy.border import Verb
from proxy.options import options
from proxy.output import as_json_text
from proxy.stores.tapes import placed
from proxy.talk import Talk
from proxy.views.remarks import about, lines, numbered
from proxy.words import count

_EPILOG = """\b
RUN may be a tape. With --json: a list of {number, run, seq, step, event_hash, at, by, kind, text, missing, supersedes,
superseded, redactions}; step is null for what is no step's; text is null where it is erased or cannot be read, and
missing says why; superseded is the number of the annotation that corrects it.
"""


@click.command(cls=Verb, short_help="What people said about a run.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("step", type=click.IntRange(min=1), required=False)
@options("json")
@click.pass_context
def command(context: click.Context, run: str, step: int | None, as_json: bool) -> int:
    """Print what people said about RUN, or about its step STEP; what was corrected too, and by what."""
    from store.exchange import steps
    from store.reader import Reader

    talk = Talk.of(context)
    with placed(talk, context.obj, run) as (place, word), Reader.open(place.store, place.keys) as reader:
        found = reader.find(word).id
        happened = steps(reader.events(found))
        said = reader.annotations(found)
    if step is not None:
        said = about(said, happened, step)
    if as_json:
        click.echo(as_json_text(numbered(said, happened)))
        return 0
    for line in lines(said, happened):
        click.echo(line)
    talk.say(count(len(said), "annotation"))
    return 0
