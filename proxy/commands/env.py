"""`edgetape env`: the variables that make a program use the recorder and trust its authority."""

import os
from pathlib import Path
from typing import TypedDict, Unpack

import click

from proxy.agent.environment import changes
from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.settings import NO_TOKEN

_EPILOG = """\b
    eval "$(edgetape env)"                     sh, bash, zsh
    edgetape env --shell fish | source         fish
    edgetape env --shell dotenv > .env         a file for other tools
With --json: an object of name and value; null stands for a variable to unset.
"""


class Given(TypedDict):
    """The options as click gives them."""

    shell: str
    folder: Path | None
    name: str
    host: str
    port: int
    token: str
    as_json: bool


@click.command(cls=Verb, short_help="Print what points a program at the recorder.", epilog=_EPILOG)
@options("shell", "folder", "name", "host", "port", "token", "json", name="default", port=8484, token=NO_TOKEN)
@click.pass_context
def command(context: click.Context, **given: Unpack[Given]) -> int:
    """Print the variables that send a program through `edgetape proxy`.

    The certificate authority is made on first use.
    """
    from proxy.agent.passage import Way, passage
    from proxy.agent.shell import render
    from store.authority import Authority

    name, port = given["name"], given["port"]
    if ":" in name:  # ends the user name wherever user name and password travel as one (RFC 7617, section 2)
        raise Misuse(f"a run that is named by a proxy URL cannot have a colon in its name: {name}")
    if not port:
        raise Misuse("port 0 is no port to send a program to", hint="give the one that `edgetape proxy` printed")
    shared: Shared = context.obj
    authority = Authority.open_or_create(shared.authority)
    way = Way(port, name, given["token"], given["host"])
    folder = (given["folder"] or shared.authority / "clients").absolute()
    needed = changes(os.environ, passage(os.environ, way, authority, folder, lasting=True))
    click.echo(as_json_text(needed) if given["as_json"] else render(needed, given["shell"]), nl=given["as_json"])
    return 0
