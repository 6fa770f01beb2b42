"""`edgetape copy`: copies a store as it is to another place, of either kind."""

from pathlib import Path

import click

from proxy.border import Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.settings.setting import STORE
from proxy.talk import Talk
from proxy.words import count
from store.core.address import Server

_EPILOG = """\b
The copy has the same origin, log and keys, and verifies as the original does; use one of both from then on: its
signer refuses to sign the other one once it has fallen behind.
With --json: {store, rows}.
"""


@click.command(cls=Verb, short_help="Copy the store to another place, or kind.", epilog=_EPILOG)
@click.argument("destination", metavar="FOLDER|URL", type=STORE)
@options("json")
@click.pass_context
def command(context: click.Context, destination: Path | Server, as_json: bool) -> int:
    """Copy the whole store to DESTINATION: a folder (SQLite), or postgresql://USER@HOST/DATABASE."""
    from proxy.progress import progress
    from store.database import shown
    from store.transfer import copy

    shared: Shared = context.obj
    talk = Talk.of(context)
    place = shared.placed(destination)
    with progress(talk, "copying", wanted=True) as told:
        rows = copy(shared.store, place, told or (lambda done, total: None))
    if as_json:
        click.echo(as_json_text({"store": shown(place), "rows": rows}))
    else:
        talk.say(f"edgetape: copied {count(rows, 'row')} to {shown(place)}")
        talk.say(f"next: edgetape --store {shown(place)} verify")
    return 0
