"""`edgetape checkpoint`: signs the log now, carries signed notes out, has others sign them, holds two together.

docs/format.md, sections 6 and 7.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from proxy.border import COULD_NOT_RUN, Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text, table
from proxy.stores.vkey import verifier_key
from proxy.talk import Talk
from proxy.words import printable
from store.core.checkpoint import Checkpoint
from store.core.event import timestamp
from store.verify.verdict import EXIT_DIVERGED, EXIT_INVALID

if TYPE_CHECKING:
    from datetime import datetime

    from store.outside.keeping import Kept
    from store.outside.round import Plan

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
_STAMPED = """\b
Exit codes: 0 every authority gave a token, which is kept; 2 usage; 3 one did not.
With --json: {origin, size, root, anchors, failed}; an anchor is {position, kind, by, sha256}: its leaf, and the
digest of what is kept.
"""
_WITNESSED = """\b
Exit codes: 0 every witness cosigned; 21 one has seen another log (V502) or a longer one (V501); 2 usage; 3 one did not
cosign. With --json: as for stamp.
"""
_LISTED = """\b
With --json: an array of {position, kind, by, sha256, size, at}; `size` is that of the checkpoint, `at` what it says.
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


@command.command(cls=Verb, epilog=_STAMPED)
@options("tsa", "tsa-ca", "json")
@click.pass_context
def stamp(context: click.Context, tsa: Sequence[str], tsa_ca: Path | None, as_json: bool) -> int:
    """Have a time stamp authority say when the log was as it is now; its token is kept, and goes into the log."""
    from proxy.stores.anchoring import plan

    if not tsa:
        raise Misuse("no time stamp authority is named", hint="edgetape checkpoint stamp --tsa URL")
    return _anchored(context, plan(tsa, tsa_ca, ()), as_json=as_json)


@command.command(cls=Verb, epilog=_WITNESSED)
@options("witness", "json")
@click.pass_context
def witness(context: click.Context, witness: Sequence[str], as_json: bool) -> int:
    """Have a witness cosign the log as it is now: it signs only what adds to all that it has seen before."""
    from proxy.stores.anchoring import plan

    if not witness:
        raise Misuse("no witness is named", hint="edgetape checkpoint witness --witness VKEY@URL")
    return _anchored(context, plan((), None, witness), as_json=as_json)


@command.command(cls=Verb, epilog=_LISTED)
@options("json")
@click.pass_context
def anchors(context: click.Context, as_json: bool) -> int:
    """List what authorities and witnesses gave, with the times that they say; `verify --policy` says who counts."""
    from store.outside import keeping

    shared: Shared = context.obj
    kept = [(each, keeping.when(each, content)) for each, content in keeping.contents(shared.store, shared.keys)]
    if as_json:
        records = [
            {**_anchor(each), "size": each.facts.size, "at": None if at is None else timestamp(at)} for each, at in kept
        ]
        click.echo(as_json_text(records))
        return 0
    rows = [
        (str(each.position), str(each.facts.size), each.facts.kind, printable(each.facts.by, one_line=True), _time(at))
        for each, at in kept
    ]
    table(shared.color, ("leaf", "checkpoint", "kind", "by", "at"), rows, right=(0, 1))
    return 0


def _time(at: "datetime | None") -> str:
    return "" if at is None else timestamp(at)


def _anchor(kept: "Kept") -> dict[str, object]:
    facts = kept.facts
    return {"position": kept.position, "kind": facts.kind, "by": facts.by, "sha256": facts.sha256}


def _anchored(context: click.Context, wanted: "Plan", *, as_json: bool) -> int:
    """Does one round, and says of each who was asked what came of it."""
    from proxy.stores.anchoring import sentences
    from store.outside import round as rounds
    from store.outside.witness import Diverged

    shared: Shared = context.obj
    outcome = rounds.go(shared.store, shared.keys, wanted)
    if as_json:
        failed = [str(error) for error in outcome.failures]
        record = {**_stated(outcome.stated), "anchors": [_anchor(each) for each in outcome.kept], "failed": failed}
        click.echo(as_json_text(record))
    else:
        for sentence in sentences(outcome):
            click.echo(sentence)
    talk = Talk.of(context)
    for error in outcome.failures:
        talk.error(str(error), error.hint)
    if any(isinstance(error, Diverged) for error in outcome.failures):
        return EXIT_DIVERGED
    return COULD_NOT_RUN if outcome.failures else 0


def _stated(stated: Checkpoint) -> dict[str, object]:
    return {"origin": stated.origin, "size": stated.size, "root": stated.root.hex()}
