"""`edgetape runs`: the recorded runs, newest first."""

from collections.abc import Mapping, Sequence

import click

from proxy.border import Verb
from proxy.options import Shared, options
from proxy.output import as_json_text, table
from proxy.stores.tags import asked, has
from proxy.talk import Talk
from proxy.views import fate
from proxy.words import count, moment, printable
from store.reader import Reader, RunInfo
from store.standing import NOTHING, Standing

ID_CHARS_MIN = 8

_EPILOG = """\b
With --json: an array of {id, name, mode, workflow, parent, opened, closed, reason, exit_code, events, steps,
origin, hold, erased, tags};
parent is null or {run, seq, event_hash}; closed, reason and exit_code are null while it is open; hold is null or
{by, reason}; erased is null or {at, by, reason, policy, events}, of which events is null for all.
"""


@click.command(cls=Verb, short_help="List the runs, newest first.", epilog=_EPILOG)
@options("mode", "tag", "limit", "json")
@click.pass_context
def command(context: click.Context, mode: str | None, tags: Sequence[str], limit: int | None, as_json: bool) -> int:
    """List the runs of the store, newest first."""
    shared: Shared = context.obj
    with Reader.open(shared.store, shared.keys) as reader:
        everything = reader.runs()
        here = reader.origin
        standings = reader.standings()
    wanted = [asked(text) for text in tags]
    runs = [run for run in everything if mode in (None, run.mode) and has(standings.get(run.id), wanted)][:limit]
    if as_json:
        click.echo(as_json_text([as_record(run, standings.get(run.id, NOTHING)) for run in runs]))
        return 0
    pruned = sum(each.pruned is not None for each in standings.values())
    talk = Talk.of(context)
    if not runs:
        talk.say("no such runs" if everything else "no runs yet; record one: edgetape record -- COMMAND")
    else:
        width = distinct(everything)
        names = {run.id: run.name for run in everything if run.name}
        rows = [_row(run, width, names, here, fate.short(standings.get(run.id, NOTHING))) for run in runs]
        table(shared.color, ("run", "name", "mode", "opened", "steps", "ended"), rows, right=(4,))
    if pruned:
        talk.say(f"{count(pruned, 'run')} {'was' if pruned == 1 else 'were'} pruned, on record")
    return 0


def as_record(run: RunInfo, standing: Standing) -> dict[str, object]:
    """A run as --json prints it."""
    parent = run.parent
    return {
        "id": run.id,
        "name": run.name or None,
        "mode": run.mode,
        "workflow": run.workflow or None,
        "parent": None if parent is None else {"run": parent.run, "seq": parent.seq, "event_hash": parent.event_hash},
        "opened": run.opened,
        "closed": run.closed or None,
        "reason": run.reason,
        "exit_code": run.exit_code,
        "events": run.events,
        "steps": run.steps,
        "origin": run.origin,
        **fate.record(standing),
    }


def distinct(runs: list[RunInfo]) -> int:
    """How many characters of an id tell all these runs apart, at least ID_CHARS_MIN."""
    width = ID_CHARS_MIN
    while width < 36 and len({run.id[:width] for run in runs}) < len(runs):
        width += 1
    return width


def ending(run: RunInfo) -> str:
    """How a run ended, in plain words."""
    if not run.closed:
        return "still open"
    words = {
        "normal": "closed",
        "agent_exit": "agent ended",
        "idle": "idle",
        "operator": "stopped",
        "crash_recovered": "recovered after a crash",
        "damaged": "damaged: edgetape verify says where",
    }
    said = words.get(run.reason or "", run.reason or "closed")
    return said if run.exit_code is None else f"{said}, exit {run.exit_code}"


def _row(run: RunInfo, width: int, names: Mapping[str, str], here: str, done: str) -> tuple[str, ...]:
    name = printable(run.name or "", one_line=True)
    of = names.get(run.parent.run, run.parent.run[:width]) if run.parent is not None else ""
    mode = f"{run.mode} of {printable(of, one_line=True)}" if of else run.mode
    if run.origin != here:
        mode += f" from {printable(run.origin, one_line=True)}"
    return (
        run.id[:width],
        name,
        mode,
        moment(run.opened),
        f"{run.steps:,}",
        f"{ending(run)}; {done}" if done else ending(run),
    )
