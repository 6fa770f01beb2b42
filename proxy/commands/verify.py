"""`edgetape verify`: the proof, its verdict and its limits (docs/format.md, section 7)."""

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.progress import progress
from proxy.stores.policy import rules_at_hand
from proxy.stores.vkey import verifier_key
from proxy.talk import Talk
from store.core import checkpoint
from store.core.checkpoint import SignedCheckpoint
from store.core.errors import Malformed
from store.reasons import reason
from store.verify.verdict import EXIT_POLICY

FINDINGS_MAX = 50

if TYPE_CHECKING:
    from store.verify.policy import Policy

_EPILOG = """\b
Exit codes: 0 verified; 10 verified, but --policy is not met, or its annotations are not verified, or a flag is up and
--strict was given; 20 INVALID; 21 DIVERGED; 30 INCOMPLETE; 2 usage; 3 could not run.
With --json: {verdict, exit_code, subject, runs, events, bodies, flags, checkpoint, key, vkey, no_earlier, no_later,
witnesses, unmet, findings, newer, annotations, locked, limits, line}; a finding is {code, meaning, run, seq,
sentence}; annotations, a verdict of their own, are null or {verdict, count, flags, findings, newer, line}.
"""


class Given(TypedDict):
    """The options as click gives them."""

    key: str | None
    held: Path | None
    policy: Path | None
    deep: bool
    strict: bool
    jobs: int | None
    as_json: bool


@click.command(cls=Verb, short_help="Prove a run, or the whole store.", epilog=_EPILOG)
@click.argument("run", metavar="[RUN|FILE]", required=False)
@options("pin", "held", "policy", "deep", "strict", "jobs", "json")
@click.pass_context
def command(context: click.Context, run: str | None, **given: Unpack[Given]) -> int:
    """Prove that RUN, or without it the whole store, is as it was recorded; or the bundle FILE (`.zip`, `.tar`, or
    anything with a slash in it).
    """
    from store.bundle.proof import verify_bundle
    from store.bundle.source import names_bundle
    from store.memory import remembered
    from store.verify import LIMITS, Terms, verify

    shared: Shared = context.obj
    talk = Talk.of(context)
    held = None if given["held"] is None else _held(given["held"])
    own = tuple(rules_at_hand(shared, Path.cwd())) if given["deep"] else ()
    key, policy = verifier_key(given["key"]), _policy(given["policy"])
    terms = Terms(key, held, policy, given["deep"], own, remembered(shared.keys))
    with progress(talk, "verifying events", wanted=run is None and not given["as_json"]) as told:
        if run is not None and names_bundle(run):
            verdict = verify_bundle(Path(run), terms, told)
        else:
            verdict = verify(shared.store, shared.keys, run, terms, told, jobs=given["jobs"], say=talk.say)
    flagged = given["strict"] and (verdict.flags or verdict.remarks.counts)
    code = EXIT_POLICY if flagged and verdict.exit_code == 0 else verdict.exit_code
    if given["as_json"]:
        click.echo(as_json_text({**verdict.record, "exit_code": code}))
        return code
    for finding in verdict.findings[:FINDINGS_MAX]:
        click.echo(str(finding))
    if len(verdict.findings) > FINDINGS_MAX:
        click.echo(f"... and {len(verdict.findings) - FINDINGS_MAX} more: edgetape verify --json")
    for sentence in (*verdict.newer, *verdict.unmet):
        click.echo(sentence)
    if verdict.locked is not None:
        talk.warn(f"bodies could not be opened: {verdict.locked}", verdict.locked.hint)
    remarks = verdict.remarks
    for finding in remarks.findings[:FINDINGS_MAX]:
        click.echo(str(finding))
    for line in (*remarks.newer, remarks.line) if remarks.line else ():
        click.echo(line)
    click.echo(verdict.line)
    if not terms.pins:
        talk.say("whose signature it is was not asked: give --pin VKEY, as `edgetape keys export` prints it there")
    talk.say(LIMITS)
    return code


def _held(path: Path) -> SignedCheckpoint:
    try:
        return checkpoint.parse(path.read_bytes())
    except (OSError, Malformed) as error:
        raise Misuse(f"no signed checkpoint can be read from {path}: {reason(error)}") from error


def _policy(path: Path | None) -> "Policy":
    from store.verify import policy

    try:
        return policy.NO_POLICY if path is None else policy.read(path)
    except policy.UnusablePolicy as error:
        raise Misuse(str(error), hint=error.hint) from error
