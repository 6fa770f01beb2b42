"""`edgetape checkpoint`: signs the log now (docs/format.md, section 6)."""

import click

from proxy.border import Verb
from proxy.options import Shared, options
from proxy.output import as_json_text

_EPILOG = """\b
With --json: {origin, size, root, made, note}; made is false where the newest checkpoint covers everything already.
"""


class Checkpoints(Verb, click.Group):
    """A verb that has verbs beneath it, and does something itself without one."""


@click.command(cls=Checkpoints, short_help="Sign the log now.", epilog=_EPILOG, invoke_without_command=True)
@options("json")
@click.pass_context
def command(context: click.Context, as_json: bool) -> int:
    """Note the head of every run that has grown, sign the log, print the signed note."""
    if context.invoked_subcommand is not None:
        return 0
    from store.sealing import seal

    shared: Shared = context.obj
    stated, note, made = seal(shared.store, shared.keys)
    record = {
        "origin": stated.origin,
        "size": stated.size,
        "root": stated.root.hex(),
        "made": made,
        "note": note.decode(),
    }
    click.echo(as_json_text(record) if as_json else note.decode(), nl=as_json)
    return 0
