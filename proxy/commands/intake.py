"""`edgetape import`: the runs of a bundle into this store (docs/bundles.md)."""

from pathlib import Path

import click

from proxy.border import Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.stores import upkeep
from proxy.talk import Talk

_EPILOG = """\b
What does not verify is not imported. With --json: {runs, verdict}, the verdict as `edgetape verify --json` has it.
"""


@click.command(cls=Verb, name="import", short_help="Take the runs of a bundle into this store.", epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@options("pin", "json")
@click.pass_context
def command(context: click.Context, file: Path, key: str | None, as_json: bool) -> int:
    """Take the runs of the bundle FILE into this store, once it is verified.

    They keep their ids, are listed with the log that they come from, and can be shown, verified and replayed.
    """
    from proxy.stores.vkey import verifier_key
    from store.bundle.intake import take_in

    shared: Shared = context.obj
    pin = verifier_key(key)
    with upkeep.opened(Talk.of(context), shared) as writer:
        verdict, runs = take_in(file, writer, pin)
    if as_json:
        click.echo(as_json_text({"runs": runs, "verdict": verdict.record}))
        return 0
    for run in runs:
        click.echo(run)
    Talk.of(context).say(verdict.line)
    return 0
