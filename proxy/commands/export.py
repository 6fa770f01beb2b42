"""`edgetape export`: runs as one file that verifies alone (docs/bundles.md)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text, write
from proxy.talk import Talk
from store.core.errors import EdgetapeError
from store.core.leaf import AccessExport

_EPILOG = """\b
The same runs at the same checkpoint give the same bytes. The store's log says afterwards who took them out.
With --json: {file, bytes, sha256, runs, checkpoint}; with --verifier: {file, sha256}.
"""


class Given(TypedDict):
    """The options as click gives them."""

    output: Path | None
    proofs: bool
    full_log: bool
    checkpoint: int | None
    without_bodies: bool
    verifier: Path | None
    by: str
    as_json: bool


@click.command(cls=Verb, short_help="Write runs as one file that verifies alone.", epilog=_EPILOG)
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@options("output", "proofs", "full-log", "without-bodies", "checkpoint", "verifier", "by", "json")
@click.pass_context
def command(context: click.Context, runs: Sequence[str], **given: Unpack[Given]) -> int:
    """Write RUN, or several, with log, bodies, a report and a stand-alone verifier into one ZIP."""
    if given["verifier"] is not None:
        return _publish(given["verifier"], as_json=given["as_json"])
    output = given["output"]
    if output is None or not runs:
        raise Misuse("export needs a run and -o FILE", hint="edgetape export last -o last.zip")
    if given["proofs"] and given["full_log"]:
        raise Misuse("--proofs and --full-log exclude one another")

    shared: Shared = context.obj
    talk = Talk.of(context)
    form = Form(given["proofs"], not given["without_bodies"], given["checkpoint"])
    made = packed(shared, talk, runs, output, given["by"], form)
    if given["as_json"]:
        said = {"runs": made.runs, "checkpoint": made.checkpoint}
        click.echo(as_json_text({"file": str(output), "bytes": output.stat().st_size, "sha256": made.digest, **said}))
        return 0
    click.echo(f"{made.digest}  {output}")
    talk.say(made.line)
    talk.say(f"check it: edgetape verify {output}; or without edgetape: python3 verify.py {output}")
    return 0


@dataclass(frozen=True, slots=True)
class Form:
    """How a bundle is to be: proofs of single leaves or the whole log, with bodies or without, at which checkpoint."""

    proofs: bool
    bodies: bool
    checkpoint: int | None = None


@dataclass(frozen=True, slots=True)
class Packed:
    """A bundle that was written: its runs, the checkpoint's size, its SHA-256 (hex), and the verdict on it."""

    runs: list[str]
    checkpoint: int
    digest: str
    line: str


def packed(shared: Shared, talk: Talk, runs: Sequence[str], output: Path, by: str, form: Form) -> Packed:
    """Writes runs as a bundle, and has the log say so. Raises StoreUnusable, UnknownRun."""
    from proxy.views.dossier import report
    from store.bundle.export import excerpt
    from store.bundle.packing import members, write

    with excerpt(shared.store, shared.keys, runs, form.checkpoint) as taken:
        view = report(taken, proofs=form.proofs, bodies=form.bodies)
        verdict = write(output, members(taken, view, proofs=form.proofs, bodies=form.bodies))
        ids, size = sorted(taken.runs), taken.size
    digest = _digest(output)
    _note(shared, talk, [_said(run, by, digest, size, bodies=form.bodies) for run in ids])
    return Packed(ids, size, digest, verdict.line)


def _said(run: str, by: str, digest: str, size: int, *, bodies: bool) -> AccessExport:
    return AccessExport(run=run, by=by, sha256=digest, size=size, bodies="included" if bodies else "withheld")


def _note(shared: Shared, talk: Talk, exports: Sequence[AccessExport]) -> None:
    """Has the log say that the runs were taken out; a store that takes nothing is no reason not to."""
    from store.access import note_exports

    try:
        note_exports(shared.store, shared.keys, exports)
    except EdgetapeError as error:
        talk.warn(f"the export left no trace in the store's log: {error}", error.hint)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _publish(path: Path, *, as_json: bool) -> int:
    from store.bundle.packing import verifier

    raw = verifier()
    write("the verifier", path, raw)
    digest = hashlib.sha256(raw).hexdigest()
    click.echo(as_json_text({"file": str(path), "sha256": digest}) if as_json else f"{digest}  {path}")
    return 0
