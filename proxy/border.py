"""The border of the program: what goes wrong inside a verb leaves as a sentence, a hint and an exit code."""

import os
import signal
import sys
import traceback

import click

from proxy.talk import Talk, leave
from store.core.errors import EdgetapeError, UnknownRun

USAGE = 2
COULD_NOT_RUN = 3
COMMAND = "edgetape.command"  # where `Parted` keeps the command, in the context's meta
PARTED = "edgetape.parted"  # where `Wrapper` keeps whether there was a `--`
OUR_FAILURE = 125  # as env(1) and timeout(1) do: the program that runs another one failed itself


class Misuse(EdgetapeError):
    """What was asked for makes no sense as it was asked."""


class Verb(click.Command):
    """A command whose errors end here; `failure` is the exit code of what is not the user's mistake."""

    failure = COULD_NOT_RUN

    def invoke(self, ctx: click.Context) -> int:
        """Run the verb; the result is the exit code."""
        talk = Talk.of(ctx)
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit):
            raise
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        except BrokenPipeError:
            leave(sys.stdout)
            return 128 + signal.SIGPIPE
        except Exception as error:  # noqa: BLE001 - the border: nothing foreign passes it
            return failed(error, talk, self.failure)
        return int(code or 0)


class Wrapper(Verb):
    """A verb that runs the user's program: its own failures are told apart from the program's."""

    failure = OUR_FAILURE

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps in `ctx.meta` whether a command was given behind `--`."""
        ctx.meta[PARTED] = "--" in args
        return super().parse_args(ctx, args)


class Parted(Wrapper):
    """A verb with a list of words and, behind `--`, a command: click itself forgets where the one ends."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps the command aside, in `ctx.meta`."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[COMMAND] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


def failed(error: Exception, talk: Talk, failure: int) -> int:
    """Say what went wrong and give the exit code."""
    from proxy.agent.process import AgentNotStarted
    from proxy.discretion import discreet

    if os.environ.get("EDGETAPE_DEBUG"):
        talk.always(discreet("".join(traceback.format_exception(error)).rstrip()))
    if isinstance(error, EdgetapeError):
        talk.error(discreet(str(error)), error.hint)
        if isinstance(error, AgentNotStarted):
            return error.exit_code
        return USAGE if isinstance(error, Misuse | UnknownRun) else failure
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        talk.error(f"the system says: {error.strerror}{where}")
        return failure
    sentence = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    talk.error(f"unforeseen: {discreet(sentence)}", "set EDGETAPE_DEBUG=1 to see where; it is worth a bug report")
    return failure


def misused(error: click.ClickException, talk: Talk) -> int:
    """Say how the command line was wrong; one without a verb is answered with the help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        talk.always(error.format_message())
        return USAGE
    context = getattr(error, "ctx", None)
    path = context.command_path if isinstance(context, click.Context) else "edgetape"
    message = error.format_message()
    talk.error(message[:1].lower() + message[1:].rstrip("."), f"{path} --help")
    return USAGE
