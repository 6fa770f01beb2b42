"""`edgetape effects`: what a run did to the outside world, with receipts, and what it did twice."""

import click

from proxy.border import Verb
from proxy.options import Shared, options
from proxy.output import as_json_text, table
from proxy.talk import Talk
from proxy.words import count, printable

EXIT_DUPLICATE = 1

_EPILOG = """\b
committed: it had a good outcome; open: nobody knows (a failure, a cut answer, a 5xx); refused: a 4xx; not done: a
replay, or a fork's answer from the recording. retry: the same idempotency key, or the same bytes when nothing was
committed before; duplicate: the same bytes committed twice.
Exit codes: 0 nothing was done twice; 1 something was; 2 usage; 3 could not run.
With --json: an array of {step, class, what, outcome, status, receipt, idempotency_key, relation, of}.
"""


@click.command(cls=Verb, short_help="What a run did to the outside world.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@options("json")
@click.pass_context
def command(context: click.Context, run: str, as_json: bool) -> int:
    """List the effects of RUN: what it wrote, with which outcome and receipt, retries told from duplicates."""
    from proxy.views.effects import effects, words
    from store.reader import Reader

    shared: Shared = context.obj
    with Reader.open(shared.store, shared.keys) as reader:
        found = effects(reader, reader.find(run))
    if as_json:
        records = [
            {
                "step": one.step,
                "class": one.kind,
                "what": one.what,
                "outcome": one.outcome,
                "status": one.status,
                "receipt": one.receipt,
                "idempotency_key": one.key,
                "relation": one.relation or None,
                "of": one.of,
            }
            for one in found
        ]
        click.echo(as_json_text(records))
    elif found:
        rows = [
            (
                str(one.step),
                one.kind,
                one.outcome,
                printable(one.receipt or "", one_line=True),
                printable("; ".join(words(one)), one_line=True),
                printable(one.what, one_line=True),
            )
            for one in found
        ]
        table(shared.color, ("step", "class", "outcome", "receipt", "repeats", "what"), rows, right=(0,))
    twice = sum(one.relation == "duplicate" for one in found)
    committed = sum(one.outcome == "committed" for one in found)
    said = f"edgetape: {count(len(found), 'effect')}, {committed} committed"
    Talk.of(context).say(f"{said}, {count(twice, 'duplicate')}" if twice else said)
    return EXIT_DUPLICATE if twice else 0
