"""`edgetape debug`: what tests of tampering need to know."""

from dataclasses import asdict

import click

from proxy.border import Verb
from proxy.options import Shared, options
from proxy.output import as_json_text, table

_EPILOG = """\b
With --json: an array of {table, column, rowid, pointer, bytes, offset}; offset counts from the start of the store's
file, and is null where the record does not lie there in one piece.
"""


@click.group()
def command() -> None:
    """Look beneath the store."""


@command.command(cls=Verb, epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("seq", type=click.IntRange(min=0))
@options("json")
@click.pass_context
def locate(context: click.Context, run: str, seq: int, as_json: bool) -> int:
    """Say where the record of event SEQ of RUN lies in the store's file."""
    from store.locate import locate as locate_record
    from store.reader import Reader

    shared: Shared = context.obj
    with Reader.open(shared.store, shared.keys) as reader:
        found = reader.find(run).id
    places = [asdict(place) for place in locate_record(shared.store, found, seq)]
    if as_json:
        click.echo(as_json_text(places))
        return 0
    rows = [tuple("-" if value in (None, "") else str(value) for value in place.values()) for place in places]
    table(shared.color, tuple(places[0]), rows)
    return 0
