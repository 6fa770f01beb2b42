"""`edgetape verify`: the proof, its verdict and its limits (docs/format.md, section 7)."""

from pathlib import Path

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.progress import progress
from proxy.talk import Talk
from proxy.vkey import verifier_key
from store.core import checkpoint
from store.core.checkpoint import SignedCheckpoint
from store.core.errors import Malformed

EXIT_POLICY_NOT_MET = 10
FINDINGS_MAX = 50

_EPILOG = """\b
Exit codes: 0 verified; 10 verified, but a flag is up and --strict was given; 20 INVALID; 21 DIVERGED;
30 INCOMPLETE; 2 usage; 3 could not run.
With --json: {verdict, exit_code, subject, runs, events, bodies, flags, checkpoint, key, findings, newer, limits,
line}; a finding is {code, meaning, run, seq, sentence}.
"""


@click.command(cls=Verb, short_help="Prove a run, or the whole store.", epilog=_EPILOG)
@click.argument("run", metavar="[RUN|FILE]", required=False)
@options("pin", "held", "strict", "json")
@click.pass_context
def command(
    context: click.Context, run: str | None, key: str | None, held: Path | None, strict: bool, as_json: bool
) -> int:
    """Prove that RUN, or without it the whole store, is as it was recorded; or the bundle FILE (`.zip`, `.tar`, or
    anything with a slash in it).
    """
    from store.bundle.proof import verify_bundle
    from store.bundle.source import names_bundle
    from store.verify import LIMITS, verify

    shared: Shared = context.obj
    talk = Talk.of(context)
    pin = verifier_key(key)
    kept = None if held is None else _held(held)
    with progress(talk, "verifying events", wanted=run is None and not as_json) as told:
        if run is not None and names_bundle(run):
            verdict = verify_bundle(Path(run), pin, told, kept)
        else:
            verdict = verify(shared.store, run, pin, told, kept)
    code = EXIT_POLICY_NOT_MET if strict and verdict.exit_code == 0 and verdict.flags else verdict.exit_code
    if as_json:
        click.echo(as_json_text({**verdict.record, "exit_code": code}))
        return code
    for finding in verdict.findings[:FINDINGS_MAX]:
        click.echo(str(finding))
    if len(verdict.findings) > FINDINGS_MAX:
        click.echo(f"... and {len(verdict.findings) - FINDINGS_MAX} more: edgetape verify --json")
    for sentence in verdict.newer:
        click.echo(sentence)
    click.echo(verdict.line)
    talk.say(LIMITS)
    return code


def _held(path: Path) -> SignedCheckpoint:
    try:
        return checkpoint.parse(path.read_bytes())
    except (OSError, Malformed) as error:
        raise Misuse(f"no signed checkpoint can be read from {path}: {error}") from error
