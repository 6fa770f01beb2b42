"""`edgetape import`: the runs of a bundle, and what other tools recorded, into this store (docs/imports.md)."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from proxy.border import Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.stores import upkeep
from proxy.talk import Talk

if TYPE_CHECKING:
    from store.core.checkpoint import VerifierKey
    from store.writer import Writer

_EPILOG = """\b
FILE is told by what stands in it: a bundle (docs/bundles.md), a HAR file, a flow file of mitmproxy, a cassette of vcrpy
or pytest-recording (YAML or JSON), or a folder with any of the last three (docs/imports.md).
\b
A bundle that does not verify is not imported. With --json: {runs, verdict}, the verdict as `edgetape verify --json` has
it; of all else {runs, files}, a file being {file, kind, tool, run, exchanges, lost}, or {file, error}.
"""


@click.command(cls=Verb, name="import", short_help="Take in a bundle, or what other tools recorded.", epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@options("pin", "json")
@click.pass_context
def command(context: click.Context, file: Path, key: str | None, as_json: bool) -> int:
    """Take the runs of the bundle FILE into this store, once it is verified; or make runs of what other tools recorded.

    A bundle's runs keep their ids, and are listed with the log that they come from. What another tool recorded becomes
    a run of mode import, redacted like any recording; nobody signed it, so its origin is a claim.
    """
    from proxy.stores.foreign import is_bundle
    from proxy.stores.vkey import verifier_key

    shared: Shared = context.obj
    pin, talk = verifier_key(key), Talk.of(context)
    with upkeep.opened(talk, shared) as writer:
        if is_bundle(file):
            return _bundle(talk, file, writer, pin, as_json=as_json)
        return _foreign(talk, file, writer, as_json=as_json)


def _bundle(talk: Talk, file: Path, writer: "Writer", pin: "VerifierKey | None", *, as_json: bool) -> int:
    from store.bundle.intake import take_in

    verdict, runs = take_in(file, writer, pin)
    if verdict.remarks.word != "VERIFIED":
        found = "; ".join(map(str, verdict.remarks.findings[:3]))
        talk.warn(f"its annotations do not verify and are not taken in: {found}", "edgetape verify FILE")
    if as_json:
        click.echo(as_json_text({"runs": runs, "verdict": verdict.record}))
        return 0
    for run in runs:
        click.echo(run)
    talk.say(verdict.line)
    return 0


def _foreign(talk: Talk, place: Path, writer: "Writer", *, as_json: bool) -> int:
    """Each file by itself: one that cannot be read is named, and costs the others nothing."""
    from proxy.stores.foreign import Taken, import_all

    taken = []
    for one in import_all(talk, place, writer):
        taken.append(one)
        if isinstance(one, Taken):
            one.say(talk)
            if not as_json:
                click.echo(one.run)
        else:
            talk.error(str(one), one.hint)
    runs = [one for one in taken if isinstance(one, Taken)]
    if as_json:
        click.echo(as_json_text({"runs": [one.run for one in runs], "files": [one.record() for one in taken]}))
    if runs:
        talk.say("edgetape: nobody signed what these files say; replay it: edgetape replay RUN -- COMMAND")
    return 0 if runs and len(runs) == len(taken) else Verb.failure
