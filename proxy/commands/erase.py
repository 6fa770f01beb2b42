"""`edgetape erase`: takes bodies of a run out of the store, on record (docs/format.md, section 5)."""

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text
from proxy.stores import upkeep
from proxy.talk import Talk
from proxy.words import count
from store import database
from store.annotations import words_of
from store.erasure import Erasure, affected
from store.exchange import Exchange, Step, steps
from store.reader import Reader

_EPILOG = """\b
Envelopes stay, and the run still verifies; what the erased bodies said is gone. What a body that stays repeats of them
stays with it: a conversation's later requests repeat the earlier ones.
Bodies that replays have from this run and do not keep themselves are erased with it.
Of a run that is still open, what is there is erased; what its open exchanges bring yet is not.
What people said about the erased events (`edgetape annotations`) goes too, for it may quote them.
With --json: {run, step, bodies: [{run, seq, pointer, bytes}], annotations: [{number, seq, bytes}], unfinished, erased};
`unfinished` counts these exchanges.
"""


@click.command(cls=Verb, short_help="Erase bodies of a run, on record.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@options("step", "why", "by", "dry-run", "json")
@click.pass_context
def command(
    context: click.Context,
    run: str,
    step: int | None,
    reason: str | None,
    by: str,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Erase the bodies of RUN, or of one of its steps."""
    if reason is None:
        raise Misuse("an erasure needs a reason", hint="--reason WORDS; it is kept in the log for ever")
    shared: Shared = context.obj
    with Reader.open(shared.store, shared.keys) as reader:
        info = reader.find(run)
        found, happened = info.id, steps(reader.events(info.id))
    seqs = None if step is None else _seqs(happened, step)
    unfinished = 0 if info.closed else _unfinished(happened, step)
    erasure = Erasure(found, seqs, by, reason)
    connection = database.open_for_reading(shared.store)
    try:
        bodies, said = affected(connection, erasure), words_of(connection, found, seqs)
    finally:
        connection.close()
    talk = Talk.of(context)
    if not dry_run:
        with upkeep.opened(talk, shared) as writer:
            writer.erase(erasure).result()
    if as_json:
        listed = [{"run": body.run, "seq": body.seq, "pointer": body.pointer, "bytes": body.bytes} for body in bodies]
        texts = [{"number": number, "seq": seq, "bytes": size} for number, seq, size in said]
        done = {"unfinished": unfinished, "erased": not dry_run}
        click.echo(as_json_text({"run": found, "step": step, "bodies": listed, "annotations": texts, **done}))
        return 0
    for body in bodies if dry_run else ():
        borrowed = "" if body.run == found else f"run {body.run} "
        click.echo(f"{borrowed}seq {body.seq} {body.pointer}: {count(body.bytes, 'byte')}")
    for number, seq, size in said if dry_run else ():
        click.echo(f"seq {seq} annotation {number}: {count(size, 'byte')}")
    told = "would be erased" if dry_run else "erased"
    texts_too = f" and {count(len(said), 'text of an annotation', 'texts of annotations')}" if said else ""
    talk.say(f"{count(len(bodies), 'body', 'bodies')}{texts_too} {told}")
    if unfinished:
        open_yet = f"{count(unfinished, 'exchange')} of it not ended: what comes of that yet is recorded"
        talk.warn(open_yet, "erase again once that is there")
    return 0


def _unfinished(happened: list[Step], number: int | None) -> int:
    """How many exchanges, of all or of one step, have no outcome yet."""
    asked = (step for step in happened if isinstance(step, Exchange) and number in (None, step.step))
    return sum(step.outcome is None for step in asked)


def _seqs(happened: list[Step], number: int) -> tuple[int, ...]:
    """The events of a step."""
    for step in happened:
        if step.step == number:
            return tuple(sorted(event.seq for event in step.events))
    raise Misuse(f"the run has no step {number}", hint="`edgetape show RUN` lists its steps")
