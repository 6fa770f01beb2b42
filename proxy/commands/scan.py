"""`edgetape scan`: what newer rules would have taken out of a recording."""

import os

import click

from proxy.border import Verb
from proxy.options import Shared, options
from proxy.output import as_json_text, table
from proxy.talk import Talk
from proxy.words import count

EXIT_FOUND = 1

_EPILOG = """\b
Exit codes: 0 nothing found; 1 something found; 2 usage; 3 could not run.
With --json: {rules, runs, bodies, unreadable, findings}; a finding is {run, seq, pointer, class, count}.
No secret is ever printed: `edgetape show RUN STEP` shows the place.
"""


@click.command(cls=Verb, short_help="Look for secrets that got through.", epilog=_EPILOG)
@click.argument("run", metavar="[RUN]", required=False)
@options("json")
@click.pass_context
def command(context: click.Context, run: str | None, as_json: bool) -> int:
    """Look through RUN, or without it the whole store, with today's rules and the keys of today's environment."""
    from store.core.redact import RULES, secrets_of
    from store.reader import Reader
    from store.scan import Scan

    shared: Shared = context.obj
    with Reader.open(shared.store, shared.keys) as reader:
        reader.demand_key()
        runs = [reader.identify(run)] if run is not None else [info.id for info in reader.runs()]
        scan = Scan(reader, secrets_of(os.environ))
        findings = [finding for each in runs for finding in scan.run(each)]
    if as_json:
        listed = [
            {"run": each.run, "seq": each.seq, "pointer": each.pointer, "class": each.kind, "count": each.count}
            for each in findings
        ]
        counts = {"runs": len(runs), "bodies": scan.bodies, "unreadable": scan.unreadable}
        click.echo(as_json_text({"rules": RULES, **counts, "findings": listed}))
        return EXIT_FOUND if findings else 0
    if findings:
        rows = [(each.run, str(each.seq), each.pointer, each.kind, str(each.count)) for each in findings]
        table(shared.color, ("run", "event", "place", "class", "count"), rows, right=(1,))
    talk = Talk.of(context)
    talk.say(f"edgetape: {count(sum(each.count for each in findings), 'secret')} in {count(len(runs), 'run')}, {RULES}")
    if scan.unreadable:
        talk.warn(f"{count(scan.unreadable, 'body', 'bodies')} could not be read: erased or damaged")
    return EXIT_FOUND if findings else 0
