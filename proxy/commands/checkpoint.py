"""`edgetape checkpoint`: signs the log now, carries signed notes out, holds two of them against each other.

docs/format.md, sections 6 and 7.
"""

import sys
from pathlib import Path
from typing import BinaryIO

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.vkey import verifier_key
from store.core.checkpoint import Checkpoint
from store.verify.verdict import EXIT_DIVERGED, EXIT_INVALID

_EPILOG = """\b
With --json: {origin, size, root, made, note}; made is false where the newest checkpoint covers everything already.
"""
_EXPORTED = """\b
With --json: {origin, size, root, file, note}; file is null with --to -.
"""
_COMPARED = """\b
Exit codes: 0 the same, or B extends A; 21 rolled back (V501) or forked (V502); 20 a note that the store's key has
not signed, or of another log; 2 usage; 3 could not run.
With --json: {relation, code, sentence, a, b, proof}; a and b are {origin, size, root}, proof the hashes of RFC 6962,
section 2.1.2, in hex.
"""
_GIT = "git:"


class Checkpoints(Verb, click.Group):
    """A verb that has verbs beneath it, and does something itself without one."""


@click.command(cls=Checkpoints, short_help="Sign the log now.", epilog=_EPILOG, invoke_without_command=True)
@options("json")
@click.pass_context
def command(context: click.Context, as_json: bool) -> int:
    """Note the head of every run that has grown, sign the log, print the signed note."""
    if context.invoked_subcommand is not None:
        return 0
    from store.sealing import seal

    shared: Shared = context.obj
    stated, note, made = seal(shared.store, shared.keys)
    record = {**_stated(stated), "made": made, "note": note.decode()}
    click.echo(as_json_text(record) if as_json else note.decode(), nl=as_json)
    return 0


@command.command(cls=Verb, epilog=_EXPORTED)
@options("to", "json")
@click.pass_context
def export(context: click.Context, to: str, as_json: bool) -> int:
    """Take the newest signed note to where it is kept."""
    from store import anchor

    shared: Shared = context.obj
    stated, note = anchor.newest(shared.store)
    if to == "-" and not as_json:
        sys.stdout.write(note.decode())
        return 0
    path: Path | None = None
    if to.startswith(_GIT):
        path = anchor.export_to_git(Path(to.removeprefix(_GIT)), stated, note)
    elif to != "-":
        path = anchor.export_to_folder(Path(to), stated, note)
    record = {**_stated(stated), "file": None if path is None else str(path), "note": note.decode()}
    click.echo(as_json_text(record) if as_json else str(path))
    return 0


@command.command(cls=Verb, epilog=_COMPARED)
@click.argument("first", metavar="A", type=click.File("rb"))
@click.argument("second", metavar="B", type=click.File("rb"))
@options("pin", "json")
@click.pass_context
def compare(context: click.Context, first: BinaryIO, second: BinaryIO, key: str | None, as_json: bool) -> int:
    """Say whether note B is of the same log as note A, and goes on from it; the store proves it."""
    from store import anchor
    from store.core.checkpoint import parse
    from store.core.errors import Malformed

    shared: Shared = context.obj
    notes = (first.read(), second.read())
    try:
        stated = [parse(note).checkpoint for note in notes]
    except Malformed as error:
        raise Misuse(f"not a signed checkpoint: {error}") from error
    try:
        found = anchor.compare(shared.store, *notes, verifier_key(key))
    except anchor.ForeignNote as error:
        click.echo(as_json_text({"relation": None, "sentence": str(error)}) if as_json else str(error))
        return EXIT_INVALID
    if as_json:
        record = {
            "relation": found.relation,
            "code": found.code,
            "sentence": found.sentence,
            "a": _stated(stated[0]),
            "b": _stated(stated[1]),
            "proof": [each.hex() for each in found.path],
        }
        click.echo(as_json_text(record))
    else:
        code = "" if found.code is None else f"{found.code}: "
        click.echo(f"{code}{found.relation}: {found.sentence}")
    return 0 if found.code is None else EXIT_DIVERGED


def _stated(stated: Checkpoint) -> dict[str, object]:
    return {"origin": stated.origin, "size": stated.size, "root": stated.root.hex()}
