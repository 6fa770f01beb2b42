"""`edgetape regress`: replay many recordings with today's agent, and say which behave differently now."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import click

from proxy.border import COMMAND, Parted
from proxy.options import Shared, options
from proxy.talk import Talk
from proxy.words import printable

_EPILOG = """\b
SELECTION are conditions that all must hold (workflow=contracts, name=nightly*, since=30d, mode=record,
tag=reviewed=yes, tag=golden), runs, or tapes.
\b
    edgetape regress workflow=contracts since=30d -j 4 -- python my_agent.py
    edgetape regress tests/tapes/*.tape -- python my_agent.py
\b
A recording passes when nothing differs and the agent ends with the recorded exit code. Without COMMAND each runs its
own.
Exit codes: 0 all passed; else the gravest of theirs (43, 41, 40, 42), 1 where only an agent's own code differs;
125 edgetape itself failed; 2 usage.
With --json: {schema, counts, runs}; a run is {run, name, passed, verdict, exit_code, agent_exit_code,
recorded_exit_code, report}.
"""


class Given(TypedDict):
    """The options as click gives them."""

    jobs: int
    on_drift: str
    ignored: Sequence[str]
    grace: float
    no_confine: bool
    junit: Path | None
    report: Path | None
    as_json: bool


@click.command(cls=Parted, short_help="Replay many recordings with today's agent.", epilog=_EPILOG)
@click.argument("words", metavar="SELECTION... [-- COMMAND...]", nargs=-1, required=True)
@options("jobs", "on-drift", "ignore", "grace", "no-confine", "junit", "report", "json", jobs=1)
@click.pass_context
def command(context: click.Context, words: Sequence[str], **given: Unpack[Given]) -> int:
    """Replay each recording that SELECTION means, with COMMAND, and report which behave differently now."""
    from proxy.configuration import nearest, well_said
    from proxy.sessions.batch import tell
    from proxy.sessions.ending import Outlets
    from proxy.sessions.regression import Case, Outcome, chosen, refuse_nothing, replayed, workplace
    from replay_server.normalise import Rules

    argv: list[str] = context.meta[COMMAND]
    with well_said():
        Rules.of((*nearest(Path.cwd()).ignore, *given["ignored"]))
    shared: Shared = context.obj
    cases = chosen(shared.store, words)
    refuse_nothing(cases, words)
    talk = Talk.of(context)

    def line(case: Case, report: Path) -> list[str]:
        ignored = [word for rule in given["ignored"] for word in ("--ignore", rule)]
        confined = ["--no-confine"] if given["no_confine"] else []
        more = ["--on-drift", given["on_drift"], "--grace", str(given["grace"]), *ignored, *confined]
        return [*shared.words, "replay", case.word, "--report", str(report), *more, *(["--", *argv] if argv else [])]

    outcomes: list[Outcome] = []

    def stopped() -> None:
        passed = sum(outcome.passed for outcome in outcomes)
        talk.error(f"stopped: {passed} of the {len(outcomes)} that ended passed; {len(cases)} were to be replayed")

    with workplace("regress", stopped) as folder:
        for outcome in replayed(cases, line, folder, given["jobs"]):
            outcomes.append(outcome)
            mark = "passed" if outcome.passed else "FAILED"
            verdict = printable(outcome.verdict, one_line=True)
            talk.say(f"{len(outcomes)} of {len(cases)} {mark}: {outcome.case.name or outcome.case.word}: {verdict}")
    outcomes.sort(key=lambda outcome: cases.index(outcome.case))  # as they were asked for, whichever ended first
    outlets = Outlets(given["report"], given["junit"], given["as_json"])
    return tell(talk, "regress", outcomes, outlets, color=shared.color)
