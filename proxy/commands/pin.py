"""`edgetape pin`: a run as a file in the user's own repository, which a replay runs on any machine."""

import re
from pathlib import Path

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.talk import Talk
from proxy.words import size

FOLDER = Path("tests/tapes")

_EPILOG = """\b
    edgetape pin last                       tests/tapes/NAME.tape
    edgetape replay tests/tapes/NAME.tape -- python my_agent.py
\b
The tape is a bundle (docs/bundles.md): `edgetape verify FILE` proves it, `edgetape import FILE` takes it into a store.
With --json: {file, bytes, sha256, run}.
"""


@click.command(cls=Verb, short_help="Write a run as a tape that tests replay.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@options("output", "by", "json")
@click.pass_context
def command(context: click.Context, run: str, output: Path | None, by: str, as_json: bool) -> int:
    """Write RUN to tests/tapes/NAME.tape, or to -o FILE; an older tape of that name is replaced."""
    from proxy.commands.export import Form, packed
    from store.reader import Reader

    shared: Shared = context.obj
    with Reader.open(shared.store, shared.keys) as reader:
        info = reader.find(run)
    if not info.closed:
        raise Misuse(f"run {info.id} is still open", hint="pin it when its agent has ended")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", info.name).strip("-.") or info.id
    path = output or FOLDER / f"{name}.tape"
    talk = Talk.of(context)
    made = packed(shared, talk, [info.id], path, by, Form(proofs=True, bodies=True))
    if as_json:
        said = {"file": str(path), "bytes": path.stat().st_size, "sha256": made.digest, "run": info.id}
        click.echo(as_json_text(said))
        return 0
    click.echo(str(path))
    talk.say(f"edgetape: run {info.id}, {size(path.stat().st_size)}; next: edgetape replay {path} -- COMMAND")
    return 0
