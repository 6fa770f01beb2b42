"""`edgetape completion`: the script that makes a shell complete our verbs and options."""

import click
from click.shell_completion import get_completion_class

from proxy.border import Misuse, Verb
from proxy.options import options

_EPILOG = """\b
    eval "$(edgetape completion bash)"              in ~/.bashrc; zsh alike
    edgetape completion fish | source               in config.fish
    edgetape completion powershell | Out-String | Invoke-Expression
"""


@click.command(cls=Verb, epilog=_EPILOG)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish", "powershell")))
@options()
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script for SHELL."""
    kind = get_completion_class(shell)
    if kind is None:
        raise Misuse(f"this version of click completes nothing in {shell}")
    click.echo(kind(context.find_root().command, {}, "edgetape", "_EDGETAPE_COMPLETE").source())
    return 0
