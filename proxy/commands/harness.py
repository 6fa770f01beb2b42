"""`edgetape harness`: records and replays for a test framework, a session a test."""

from pathlib import Path

import click

from proxy import loop
from proxy.border import Verb
from proxy.options import Shared, options
from proxy.settings import Durability
from proxy.talk import Talk

_EPILOG = """\b
The pytest plugin (docs/pytest.md) starts it, one a worker; plugins for other frameworks can.
Each line on stdin is a JSON object that asks for something, each line on stdout the answer:
\b
    {"do": "replay", "tape": PATH, "pid": N, "environment": {...}}     {"session", "port", "environment"}
    {"do": "record", "tape": PATH, "pid": N, "environment": {...},
     "name": TEST, "folder": PATH}                                     {"session", "port", "environment"}
    {"do": "end", "session": ID}                                       {"clean", "verdict", "lines", "report"},
                                                                       or {"run", "steps", "tape", "cause"}
\b
What cannot be done is answered with {error, hint}. It ends when stdin does.
"""


@click.command(cls=Verb, short_help="Record and replay for a test framework.", epilog=_EPILOG)
@options("upstream-ca", "durability", "by", durability="group")
@click.pass_context
def command(context: click.Context, upstream_ca: Path | None, durability: Durability, by: str) -> int:
    """Record and replay for a test framework, told by lines of JSON on stdin."""
    from proxy.harness.desk import Desk, attend
    from proxy.harness.terms import Terms
    from store.scratch import scratch

    shared: Shared = context.obj
    talk = Talk.of(context)
    with scratch() as folder:
        loop.run(talk, attend(Desk(talk, shared, Terms(by, durability, upstream_ca), folder)))
    return 0
