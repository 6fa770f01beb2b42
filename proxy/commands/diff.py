"""`edgetape diff`: two recordings, step by step, in the words of a drift."""

from collections.abc import Sequence

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.talk import Talk
from proxy.words import printable

EXIT_DIFFER = 1

_EPILOG = """\b
Steps that are the same but for ids made up anew are the same; others are changed, moved, only in A (removed) or only in
B (inserted). Answers of models are compared by what they say, all others by their body.
Exit codes: 0 the same; 1 they differ; 2 usage; 3 could not run.
With --json: {schema, a, b, counts, steps}, steps only those that differ; docs/diff.md has the members.
"""


@click.command(cls=Verb, short_help="Compare two runs, step by step.", epilog=_EPILOG)
@click.argument("a", metavar="RUN_A")
@click.argument("b", metavar="RUN_B")
@options("ignore", "json")
@click.pass_context
def command(context: click.Context, a: str, b: str, ignored: Sequence[str], as_json: bool) -> int:
    """Say how RUN_B differs from RUN_A: requests, answers, tool arguments, order, tokens and time."""
    from proxy.views import comparing
    from replay_server.normalise import Rules
    from replay_server.rules import BadRule
    from store.reader import Reader

    try:
        rules = Rules.of(ignored)
    except BadRule as error:
        raise Misuse(str(error), hint=error.hint) from error
    shared: Shared = context.obj
    with Reader.open(shared.store, shared.keys) as reader:
        left, right = reader.find(a), reader.find(b)
        entries = comparing.compared(reader, left, right, rules)
    if as_json:
        click.echo(as_json_text(comparing.document(left, right, entries)))
    else:
        names = (printable(f"{run.name} {run.id}".strip(), one_line=True) for run in (left, right))
        click.echo("\n".join((*(f"{sign}: run {name}" for sign, name in zip("AB", names, strict=True)), "")))
        for line in comparing.lines(entries):
            click.echo(line)
    Talk.of(context).say(f"edgetape: {comparing.summary(entries)}")
    return EXIT_DIFFER if any(entry.differs for entry in entries) else 0
