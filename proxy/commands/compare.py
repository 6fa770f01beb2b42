"""`edgetape compare`: the same run with other models, or runs that exist, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from proxy.border import COMMAND, OUR_FAILURE, Misuse, Parted
from proxy.options import Shared, options
from proxy.outbound import verb
from proxy.output import as_json_text, keep, table
from proxy.talk import Talk
from proxy.words import count, printable

if TYPE_CHECKING:
    from proxy.outbound.voyage import Voyage
    from proxy.sessions.variants import Variant

_EPILOG = """\b
    edgetape compare contract --model m2 --model m3 -n 3
    edgetape compare contract --with 'MODEL=m2 TEMPERATURE=0' -- python my_agent.py
    edgetape compare contract last:compare
\b
With one RUN the agent runs again, once for each variant and time: models live, everything else from the recording, by
equal arguments in any order. Where none is equal that branch has left the recording, and ends. Each is a run of mode
compare under RUN. With several RUNs nothing is run.
Exit codes: 0; 1 an agent ended otherwise than recorded, or you said no; 41 a branch left the recording; 43 something
was held back; 125 edgetape itself failed; 2 usage.
With --json: {schema, runs, reports}, runs as docs/compare.md has them, reports those of the branches by run.
"""


class Given(verb.Given):
    """The options as click gives them."""

    models: Sequence[str]
    variables: Sequence[str]
    times: int
    jobs: int
    allowed: Sequence[str]
    repeat_last: bool


type Reports = Mapping[str, Mapping[str, object]]


@click.command(cls=Parted, short_help="Run an agent with other models, or hold runs side by side.", epilog=_EPILOG)
@click.argument("words", metavar="RUN... [-- COMMAND...]", nargs=-1, required=True)
@options("model", "with", "times", "jobs", "allow", "repeat-last", *verb.LIVE, jobs=1)
@click.pass_context
def command(context: click.Context, words: Sequence[str], **given: Unpack[Given]) -> int:
    """Run the command of RUN, or COMMAND, with models live and all else recorded; or compare several RUNs."""
    from proxy.sessions.variants import variants

    argv: list[str] = context.meta[COMMAND]
    talk = Talk.of(context)
    asked = variants(given["models"], given["variables"])
    if len(words) > 1:
        if argv or given["models"] or given["variables"] or given["times"] > 1:
            raise Misuse("several runs are compared as they are", hint="name one RUN to run its agent again")
        return _tell(talk, context.obj, words, {}, given)
    if len(asked) * given["times"] == 1:
        return _alone(talk, context.obj, words[0], argv, asked[0], given)
    return _together(talk, context.obj, words[0], argv, asked, given)


def _alone(talk: Talk, shared: Shared, word: str, argv: Sequence[str], variant: "Variant", given: Given) -> int:
    """One branch, in this process."""
    # First of all: a process that has threads or an open store cannot be confined any more.
    from proxy.outbound.voyage import carried_out
    from proxy.sessions.ending import Outlets, tell

    voyage = _voyage(word, argv, variant, given)
    confinement = verb.kept_in(shared, "comparison", given)
    report = carried_out(talk, shared, voyage, confinement)
    if isinstance(report, int):
        return report
    tell(talk, report, Outlets())
    original, made = _ids(report.document)
    return _tell(talk, shared, (original, made), {made: report.document}, given)


def _together(
    talk: Talk, shared: Shared, word: str, argv: Sequence[str], asked: Sequence["Variant"], given: Given
) -> int:
    """Many branches, each in a process and a confinement of its own."""
    from proxy.outbound.voyage import agreed, declined
    from proxy.sessions.regression import Case, replayed, workplace
    from proxy.stores.tapes import taken_in

    word = taken_in(talk, shared, word)
    if not agreed(talk, shared, _voyage(word, argv, asked[0], given)):
        return declined(talk)
    cases = {
        Case(word, f"{variant.name}, {number + 1} of {given['times']}"): variant
        for number in range(given["times"])
        for variant in asked
    }

    def line(case: Case, report: Path) -> list[str]:
        told = [*_shared_words(given), *cases[case].words, "--report", str(report)]
        return [*shared.words, "compare", word, "--yes", *told, *(["--", *argv] if argv else [])]

    reports: dict[str, Mapping[str, object]] = {}
    failed = False
    with workplace("compare", lambda: talk.error(f"stopped: {len(reports)} of {len(cases)} had run")) as folder:
        for number, outcome in enumerate(replayed(list(cases), line, folder, given["jobs"])):
            told = (outcome.report or {}).get("reports")
            reports |= told if isinstance(told, dict) else {}
            failed = failed or not told
            said = "done" if told else f"FAILED ({_last_word(outcome.said) or f'exit code {outcome.code}'})"
            talk.say(f"{number + 1} of {len(cases)} {said}: {outcome.case.name}")
    if not reports:
        talk.error("no branch could be run")
        return OUR_FAILURE
    original, _ = _ids(next(iter(reports.values())))
    code = _tell(talk, shared, (original, *reports), reports, given)
    return OUR_FAILURE if failed else code


def _last_word(said: str) -> str:
    """What edgetape said last in a branch that came to nothing."""
    ours = [line.removeprefix("edgetape: ") for line in said.splitlines() if line.startswith("edgetape: ")]
    return printable(ours[-1], one_line=True) if ours else ""


def _voyage(word: str, argv: Sequence[str], variant: "Variant", given: Given) -> "Voyage":
    """What one branch is to do. Raises Misuse."""
    from proxy.agent.identity import Introduction
    from proxy.configuration import nearest, well_said
    from proxy.outbound.voyage import Proposal, Voyage
    from proxy.views.branches import VARIANT
    from replay_server.normalise import Rules
    from replay_server.plan import ComparePlan
    from replay_server.registry import Registry

    configured = nearest(Path.cwd())
    with well_said():
        Rules.of(given["ignored"])
        registry = Registry.of((*given["allowed"], *configured.allow))
    proposal = Proposal(
        "this may leave this machine, model requests only:",
        registry,
        lambda whole: ComparePlan(whole, variant.model, given["repeat_last"]),
        filed=configured.allow,
    )
    replaying = replace(verb.replaying(given), order="any")
    about = Introduction(labels={VARIANT: variant.name})
    return Voyage(word, argv, proposal, replaying, verb.terms(given), about, variant.variables)


def _shared_words(given: Given) -> list[str]:
    """The options that each branch has, as they stand on its command line."""
    many = (
        *(("--allow", rule) for rule in given["allowed"]),
        *(("--ignore", rule) for rule in given["ignored"]),
        *(("--allow-local", str(port)) for port in given["allowed_ports"]),
        *((("--upstream-ca", str(given["upstream_ca"])),) if given["upstream_ca"] else ()),
        ("--children", given["children"]),
        ("--grace", str(given["grace"])),
    )
    flags = ("repeat_last", "unverified", "no_confine")
    said = [f"--{name.replace('_', '-')}" for name in flags if given[name]]  # type: ignore[literal-required]
    return [*(word for pair in many for word in pair), *said]


def _ids(report: Mapping[str, object]) -> tuple[str, str]:
    """The run that a branch is of, and the branch's own."""
    run, made = report["run"], report["replay"]
    assert isinstance(run, Mapping)
    assert isinstance(made, Mapping)
    return str(run["id"]), str(made["id"])


def _tell(talk: Talk, shared: Shared, words: Sequence[str], reports: Reports, given: Given) -> int:
    """Prints the comparison; the exit code."""
    from proxy.configuration import well_said
    from proxy.views import branches
    from replay_server.normalise import Rules
    from store.reader import Reader

    with well_said():
        rules = Rules.of((*branches.MODEL_RULES, *given["ignored"]))
    with Reader.open(shared.store, shared.keys) as reader:
        told = [branches.branch(reader, reader.find(word), rules) for word in words]
    document = {**branches.document(told), "reports": dict(reports)}
    written = keep(talk, given["report"], as_json_text(document) + "\n")
    if given["as_json"]:
        click.echo(as_json_text(document))
    else:
        table(shared.color, branches.HEADS, branches.rows(told), right=branches.NUMBERS)
    talk.say(f"edgetape: {count(len(told), 'run')} compared; next: edgetape diff {told[0].info.id} {told[-1].info.id}")
    return _code(told[0].info.exit_code, reports) if written else OUR_FAILURE


def _code(recorded: int | None, reports: Reports) -> int:
    from proxy.sessions.regression import DIFFERS, GRAVEST

    codes = {report["exit_code"] for report in reports.values()}
    grave = next((code for code in GRAVEST if code in codes), None)
    if grave is not None:
        return grave
    return DIFFERS if any(report["agent_exit_code"] != (recorded or 0) for report in reports.values()) else 0
