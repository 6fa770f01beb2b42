"""The command line: `edgetape VERB`, each verb a file in proxy/commands that is loaded when it is called."""

import contextlib
import importlib
import io
import os
import signal
import sys
from collections.abc import MutableMapping, Sequence
from difflib import get_close_matches

import click

import store
from proxy.border import COULD_NOT_RUN, failed, misused
from proxy.options import Shared, shared_options
from proxy.talk import Talk, leave
from store.core import address
from store.core.errors import EdgetapeError

# The order of a first day's work, which is the order of the help.
VERBS = (
    "record",
    "runs",
    "show",
    "find",
    "effects",
    "verify",
    "scan",
    "replay",
    "learn",
    "fork",
    "compare",
    "sandbox",
    "diff",
    "pin",
    "regress",
    "rebase",
    "export",
    "import",
    "checkpoint",
    "keys",
    "proxy",
    "env",
    "doctor",
    "harness",
    "mcp",
    "erase",
    "hold",
    "tag",
    "annotate",
    "annotations",
    "prune",
    "retention",
    "compact",
    "copy",
    "debug",
    "completion",
)
MODULES = {"import": "intake"}  # no module can be called import

_HELP = """Record every LLM and tool exchange of an AI agent, prove the recording, and replay it offline.

\b
    edgetape record -- python my_agent.py    record a run
    edgetape show last                       what happened, a line a step
    edgetape verify last                     prove that nothing was changed
    edgetape replay last                     run it again, answered from the recording

RUN is `last` (the newest recorded run), `last:replay`, a run's name, or the beginning of its id.
"""


class Verbs(click.Group):
    """The verbs; a file is imported only when its verb is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of the help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of this name, if there is one."""
        if cmd_name not in VERBS:
            return None
        command = importlib.import_module(f"proxy.commands.{MODULES.get(cmd_name, cmd_name)}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, but an unknown verb is answered with the nearest one."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            near = get_close_matches(args[0], VERBS, 1)
            also = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(VERBS)}"
            raise click.UsageError(f"no such command: {args[0]}{also}", ctx)
        return super().resolve_command(ctx, args)


def _print_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"edgetape {store.__version__}")
        context.exit()


@click.command(cls=Verbs, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@shared_options
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
@click.pass_context
def group(context: click.Context, /, **values: object) -> None:
    """The settings that every verb shares."""
    context.obj = Shared(values)
    _hush(os.environ)


def _hush(environment: MutableMapping[str, str]) -> None:
    """Takes the password of a store's URL out of the environment, which agents get too."""
    said = environment.get("EDGETAPE_STORE", "")
    if address.is_url(said):
        del environment["EDGETAPE_STORE"]
        with contextlib.suppress(EdgetapeError):  # another store is named, else we had not come here
            environment["EDGETAPE_STORE"] = address.parse(said).url


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code."""
    try:
        code = group.main(arguments, prog_name="edgetape", standalone_mode=False)
    except click.ClickException as error:
        return misused(error, Talk.of(error.ctx) if isinstance(error, click.UsageError) and error.ctx else Talk())
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except OSError as error:  # the help or the version could not be written
        leave(sys.stdout)
        return failed(error, Talk(), COULD_NOT_RUN)
    return code if isinstance(code, int) else 0


def _open_streams() -> None:
    """Puts the null device where the caller closed stdin, stdout or stderr; the agent still finds them closed.

    Else the next file that is opened, the store perhaps, got their number, and what is printed.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))  # noqa: SIM115, PTH123


def main() -> None:
    """What the installed command runs."""
    _open_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 is no reason to fail
    sys.exit(run())
