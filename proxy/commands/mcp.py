"""`edgetape mcp`: stands in an agent's MCP configuration before a tool server that speaks over stdin and stdout."""

import os
import sys
from collections.abc import Sequence

import click

from proxy.border import OUR_FAILURE, Misuse, Wrapper
from proxy.options import options
from proxy.talk import Talk
from proxy.words import count

_EPILOG = """\b
In the agent's MCP configuration:
    "command": "edgetape", "args": ["mcp", "--", "npx", "some-server"]
"""


@click.command(
    cls=Wrapper,
    short_help="Record a tool server that speaks over stdin and stdout.",
    epilog=_EPILOG,
    context_settings={"allow_interspersed_args": False},
)
@click.argument("argv", metavar="[--] COMMAND...", nargs=-1, type=click.UNPROCESSED)
@options("server")
@click.pass_context
def command(context: click.Context, argv: Sequence[str], server: str | None) -> int:
    """Run the tool server COMMAND, and record what it and the agent say to one another.

    Under `edgetape record` every message goes into the run; under `edgetape replay` the server is not started, and
    what it said comes from the recording. Elsewhere messages just pass.
    """
    if not argv:
        raise Misuse("no tool server to run", hint="edgetape mcp -- npx some-server")
    from proxy.agent.surroundings import nearby
    from proxy.sessions.stdio import Between, named

    talk = Talk.of(context)
    found = nearby(os.environ)
    if found is None:
        talk.say("no recording is under way: messages of the tool server pass unrecorded")
    between = Between(argv, server or named(argv), found, sys.stdin.buffer, sys.stdout.buffer)
    try:
        code = between.run()
    except OSError as error:
        talk.error(f"the tool server {argv[0]} cannot be run: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    if between.lost:
        talk.error(f"{count(between.lost, 'message')} not recorded, and not passed on: {between.failure}")
        return OUR_FAILURE
    return code
