"""`edgetape show`: a run as a timeline, or one of its steps whole."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text, table, write
from proxy.stores.tapes import placed
from proxy.talk import Talk
from proxy.views import claims, fate, remarks
from proxy.views.timeline import Line, clock, lines
from proxy.words import count, duration, folded, microseconds_between, moment, printable
from store.annotations import Said
from store.exchange import Exchange, Happening, Step, steps
from store.reader import Reader, RunInfo

LINES_MAX = 400

_EPILOG = """\b
With --json: {run, command, steps, verdict, annotations}; run is as `edgetape runs --json` has it; steps are
{step, at_us, took_us, status, words, mark}; step is null for what is not counted (a tunnel, a gap); verdict is
{words, report} of a replay or a fork, else null; annotations are as `edgetape annotations --json` has them.
With --json and STEP: the same members and {asked, request, response, error, messages, annotations}; a body is
{media_type, coding, length, sha256, text | b64} with its coding undone, or {missing}.
"""


@click.command(cls=Verb, short_help="Show a run, a line a step, or a step whole.", epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.argument("step", type=click.IntRange(min=1), required=False)
@options("raw", "html", "json")
@click.pass_context
def command(
    context: click.Context, run: str, step: int | None, raw: str | None, html: str | None, as_json: bool
) -> int:
    """Show what happened in RUN, a line a step, or its step STEP whole. RUN may be a tape."""
    if html is not None and (step is not None or as_json):
        raise Misuse("--html is of a whole run, and is no JSON", hint=f"edgetape show {run} --html run.html")
    if raw is not None and step is None:
        raise Misuse("--raw needs a step", hint=f"edgetape show {run} STEP --raw {raw}")
    with placed(Talk.of(context), context.obj, run) as (place, word), Reader.open(place.store, place.keys) as reader:
        info = reader.find(word)
        if html is not None:
            _write_page(context, reader, info, html)
            return 0
        happened = steps(reader.events(info.id))
        if step is None:
            _show_run(context, reader, info, happened, as_json=as_json)
        else:
            chosen = _chosen(happened, step, info)
            said = remarks.about(reader.annotations(info.id), [chosen], step)
            _show_step(context, reader, chosen, raw, said, as_json=as_json)
    return 0


def _show_run(
    context: click.Context, reader: Reader, info: RunInfo, happened: Sequence[Step], *, as_json: bool
) -> None:
    from proxy.agent.identity import command_of
    from proxy.commands.runs import as_record
    from proxy.views.verdict import judgement

    shared: Shared = context.obj
    argv = command_of(reader, info.id)
    rows = lines(happened, reader)
    standing = reader.standing(info.id)
    judged, said = judgement(reader, happened), reader.annotations(info.id)
    if as_json:
        record = {"run": as_record(info, standing), "command": argv, "steps": [row.as_record() for row in rows]}
        verdict = None if judged is None else {"words": judged.words, "report": judged.report}
        spoken = remarks.numbered(said, happened)
        click.echo(as_json_text({**record, "verdict": verdict, "annotations": spoken}))
        return
    for line in (*_head(info, argv), *claims.lines(reader, info), *fate.lines(standing)):
        click.echo(line)
    if judged is not None:
        click.echo(f"verdict: {judged.words}")
    if rows:
        click.echo()
        heads = ("step", "at", "took", "status", "what")
        table(shared.color, heads, [_cells(row) for row in rows], right=(0, 1, 2), marks=[r.mark for r in rows])
    for line in ("\nannotations:", *remarks.short(said, happened)) if said else ():
        click.echo(line)
    talk = Talk.of(context)
    talk.say(f"\none step whole: edgetape show {info.id} STEP" if rows else "the run has no steps")


def _write_page(context: click.Context, reader: Reader, info: RunInfo, path: str) -> None:
    from proxy.views.report import report

    written = report(reader, info)
    if path == "-":
        sys.stdout.buffer.write(written)
        return
    write("the page", Path(path), written)
    Talk.of(context).say(f"edgetape: run {info.id} is in {path}")


def _head(info: RunInfo, argv: Sequence[str]) -> Iterator[str]:
    from proxy.commands.runs import ending

    name = f" {printable(info.name, one_line=True)}" if info.name else ""
    of = f" of {info.parent.run}" if info.parent is not None else ""
    yield f"run{name} {info.id} ({info.mode}{of})"
    lasted = f", {duration(microseconds_between(info.opened, info.closed))}" if info.closed else ""
    yield f"{moment(info.opened)}{lasted}; {ending(info)}; {count(info.steps, 'step')}"
    if argv:
        yield f"command: {folded(printable(' '.join(argv), one_line=True), 200)}"


def _cells(line: Line) -> tuple[str, ...]:
    number = "" if line.number is None else str(line.number)
    took = "" if line.took_us is None else duration(line.took_us)
    return number, clock(line.at_us), took, line.status, line.words


def _chosen(happened: Sequence[Step], step: int, info: RunInfo) -> Step:
    for found in happened:
        if found.step == step:
            return found
    raise Misuse(
        f"run {info.id} has no step {step}: it has {count(info.steps, 'step')}", hint=f"edgetape show {info.id}"
    )


def _show_step(
    context: click.Context, reader: Reader, step: Step, raw: str | None, said: Sequence[Said], *, as_json: bool
) -> None:
    from proxy.views.body import request_body, response_body
    from proxy.views.exhibit import exhibit
    from proxy.views.page import page

    if raw is not None:
        if isinstance(step, Happening):
            raise Misuse(f"step {step.step} is no exchange: it has no {raw}")
        body = request_body(reader, step) if raw == "request" else response_body(reader, step)
        if body is not None and body.missing:
            raise Misuse(body.missing)
        sys.stdout.buffer.write(body.content if body is not None else b"")
        return
    if as_json:
        click.echo(as_json_text({**exhibit(reader, step), "annotations": remarks.numbered(said, [step])}))
        return
    everything = [*page(reader, step), *(["", "annotations:"] if said else ()), *remarks.lines(said, [step])]
    verbose = context.obj.loudness > 0
    for line in everything if verbose else everything[:LINES_MAX]:
        click.echo(line)
    if not verbose and len(everything) > LINES_MAX:
        hidden = count(len(everything) - LINES_MAX, "line")
        whole = "edgetape show -v, or a body alone with --raw" if isinstance(step, Exchange) else "edgetape show -v"
        Talk.of(context).say(f"... {hidden} more: {whole}")
