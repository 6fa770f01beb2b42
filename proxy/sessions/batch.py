"""Tells how many replays ended: a table of those that failed, files, JSON, and one line of words last."""

from collections.abc import Sequence

import click

from proxy.border import OUR_FAILURE
from proxy.output import as_json_text, keep, table
from proxy.sessions.ending import Outlets
from proxy.sessions.regression import Outcome, exit_code
from proxy.settings import Color
from proxy.talk import Talk
from proxy.words import count, printable
from replay_server.junit import batch

SCHEMA = "edgetape/regress-report/1"


def tell(talk: Talk, verb: str, outcomes: Sequence[Outcome], outlets: Outlets, *, color: Color) -> int:
    """Says it everywhere, and gives the exit code."""
    failed = [outcome for outcome in outcomes if not outcome.passed]
    document = {
        "schema": SCHEMA,
        "counts": {"passed": len(outcomes) - len(failed), "failed": len(failed)},
        "runs": [outcome.record() for outcome in outcomes],
    }
    told = [(one.case.name or one.case.word, one.passed, one.verdict, one.said) for one in outcomes]
    written = [
        keep(talk, outlets.report, as_json_text(document) + "\n"),
        keep(talk, outlets.junit, batch(f"edgetape {verb}", told)),
    ]
    if outlets.as_json:
        click.echo(as_json_text(document))
    elif failed:
        rows = [
            (one.case.word, printable(one.case.name, one_line=True), printable(one.verdict, one_line=True))
            for one in failed
        ]
        table(color, ("run", "name", "verdict"), rows)
    passed = f"{len(outcomes) - len(failed)} of {count(len(outcomes), 'recording')} passed"
    talk.always(f"edgetape: {passed}" + (f", {len(failed)} FAILED" if failed else ""))
    return exit_code(outcomes) if all(written) else OUR_FAILURE
