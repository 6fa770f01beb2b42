"""`edgetape doctor`: what of this machine can be recorded as it is."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from proxy.border import Misuse, Verb
from proxy.loop import run
from proxy.options import Shared, options
from proxy.output import as_json_text, table
from proxy.progress import progress
from proxy.talk import Talk
from proxy.views.timeline import Mark
from proxy.words import count, printable

if TYPE_CHECKING:
    from proxy.doctor.premises import Premise
    from proxy.doctor.trial import Finding, Verdict

EXIT_FOUND = 1

_EPILOG = """\b
    edgetape doctor                                    what is on PATH
    edgetape doctor .venv/bin/python node24/bin/node   these as well
\b
Exit codes: 0 every client that is installed passes (but those that nothing reaches); 1 one does not, or something that
recording needs is not in order; 2 usage; 3 could not run.
With --json: {premises, clients}; a premise is {name, state, sentence, hint}, a client {name, program, verdict, obeys,
said, advice}; a verdict is passes, ignores (the proxy), distrusts (the authority), fails or absent.
Nothing leaves the machine: the trial requests go to a server of ours.
"""
_WORDS: "dict[Verdict, str]" = {
    "passes": "passes",
    "ignores": "ignores the proxy",
    "distrusts": "distrusts the authority",
    "fails": "did not end",
    "absent": "not installed",
}
_ODD: Mark = "odd"
_TRUST = "point it at the file that SSL_CERT_FILE names"


@click.command(cls=Verb, short_help="Try which programs here can be recorded.", epilog=_EPILOG)
@click.argument("programs", metavar="[PROGRAM]...", nargs=-1)
@options("json")
@click.pass_context
def command(context: click.Context, programs: Sequence[str], as_json: bool) -> int:
    """Try every HTTP client of the languages on PATH, and of each PROGRAM, through a recorder of its own.

    Also says whether the store, keys, disk, clock and confinement are as they have to be.
    """
    from proxy.doctor.clients import clients_of
    from proxy.doctor.premises import premises

    for program in programs:
        if not os.access(program, os.X_OK):
            raise Misuse(f"there is no program {program} that can be executed")
        if not clients_of(program):
            raise Misuse(f"no client is known that {program} could run", hint="python, node, bun, ruby, php, perl, ...")
    shared: Shared = context.obj
    talk = Talk.of(context)
    found = premises(shared.store, shared.keys, shared.authority)  # before anything starts a thread

    from proxy.doctor.trial import subjects, tried
    from store.authority import Authority

    present, missing = subjects(programs, os.environ.get("PATH"))
    authority = Authority.open_or_create(shared.authority)
    with progress(talk, "trying clients", wanted=not as_json) as told:
        jobs = 2 * (os.cpu_count() or 1)
        findings = run(talk, tried(present, authority, jobs, told or (lambda _, __: None)))
    absent = [(client.name, client.program) for client in missing]
    if as_json:
        click.echo(
            as_json_text({"premises": [_premise(each) for each in found], "clients": _clients(findings, absent)})
        )
    else:
        _print(shared, found, findings, absent)
    wrong = any(each.is_fault for each in findings)
    passing = sum(each.verdict == "passes" for each in findings)
    rest = sum(each.verdict not in ("passes", "absent") for each in findings)
    talk.say(f"edgetape: {count(passing, 'client')} here can be recorded, {rest} cannot")
    return EXIT_FOUND if wrong or any(each.state == "bad" for each in found) else 0


def _print(
    shared: Shared, found: "Sequence[Premise]", findings: "Sequence[Finding]", absent: Sequence[tuple[str, str]]
) -> None:
    needed = [(each.name, each.sentence + (f": {each.hint}" if each.hint else "")) for each in found]
    table(shared.color, ("needed", "how it stands"), needed, marks=[each.state for each in found])
    click.echo()
    gone = [(name, _WORDS["absent"], f"no {program} on PATH") for name, program in absent]
    rows = [*map(_row, findings), *gone]
    marks: list[Mark] = [*map(_mark, findings), *(_ODD for _ in gone)]
    table(shared.color, ("client", "through the recorder", ""), rows, marks=marks)


def _row(finding: "Finding") -> tuple[str, str, str]:
    passes = finding.verdict == "passes"
    why = f"by {finding.subject.client.obeys or 'itself'}" if passes else _advice(finding)
    return finding.subject.name, _WORDS[finding.verdict], why


def _mark(finding: "Finding") -> Mark:
    if finding.verdict == "passes":
        return "good"
    return "bad" if finding.is_fault else _ODD


def _advice(finding: "Finding") -> str:
    if finding.verdict == "absent":
        return f"its library is not there for {finding.subject.path}"
    what = _TRUST if finding.verdict == "distrusts" else finding.subject.client.advice
    return what + (f" (it said: {printable(finding.said, one_line=True)})" if finding.said else "")


def _premise(premise: "Premise") -> dict[str, str]:
    return {"name": premise.name, "state": premise.state, "sentence": premise.sentence, "hint": premise.hint}


def _clients(findings: "Sequence[Finding]", absent: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    told = [
        {
            "name": finding.subject.client.name,
            "program": finding.subject.path,
            "verdict": finding.verdict,
            "obeys": finding.subject.client.obeys,
            "said": finding.said,
            "advice": "" if finding.verdict in ("passes", "absent") else _advice(finding),
        }
        for finding in findings
    ]
    gone = {"program": "", "verdict": "absent", "obeys": "", "said": "", "advice": ""}
    return told + [{"name": name, **gone} for name, _ in absent]
