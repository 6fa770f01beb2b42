"""`edgetape find`: the runs and steps in which something was said."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.output import as_json_text, table, write
from proxy.talk import Talk
from proxy.words import count, moment, printable

if TYPE_CHECKING:
    from proxy.views.finding import Hit, Wanted
    from store.reader import Reader, RunInfo

EXIT_NONE = 1

_EPILOG = """\b
PATTERN is text, or with --regex a regular expression; capitals do not matter. It is looked for in addresses with
their queries, in requests, in answers (streamed ones put together), in messages and notes. Replays repeat their
recording, and are passed over unless --mode asks for them.
\b
    edgetape find MSA-2041
    edgetape find GB- --tool requirements.json --empty '' --since 30d --reports reports
\b
--empty '' asks for answers that are empty as a whole: [], {}, "" or null.
Exit codes: 0 found; 1 nothing found; 2 usage; 3 could not run.
With --json: an array of {run, name, mode, opened, step, where, excerpt}, newest run first.
"""


class Given(TypedDict):
    """The options as click gives them."""

    regex: bool
    host: str | None
    tool: str | None
    since: str | None
    empty: str | None
    mode: str | None
    reports: Path | None
    as_json: bool


@click.command(cls=Verb, short_help="Find the steps in which something was said.", epilog=_EPILOG)
@click.argument("pattern", metavar="[PATTERN]", required=False)
@options("regex", "find-host", "tool", "since", "empty", "mode", "reports", "json")
@click.pass_context
def command(context: click.Context, pattern: str | None, **given: Unpack[Given]) -> int:
    """Look through all runs for PATTERN, and say in which steps it stands."""
    from proxy.since import since
    from proxy.views.finding import Finder
    from store.reader import Reader

    wanted = _wanted(pattern, given)
    earliest = since(given["since"], datetime.now(UTC)) if given["since"] else ""
    shared: Shared = context.obj
    talk = Talk.of(context)
    with Reader.open(shared.store, shared.keys) as reader:
        finder = Finder(reader, wanted)
        runs = [run for run in reader.runs() if run.opened >= earliest and _is_asked_for(run, given["mode"])]
        found = list(_found(talk, finder, runs))
        if given["reports"] is not None:
            _report(talk, reader, [run for run, _ in found], given["reports"])
    if given["as_json"]:
        click.echo(as_json_text([_record(run, hit) for run, hits in found for hit in hits]))
    elif found:
        rows = [_row(run, hit) for run, hits in found for hit in hits]
        table(shared.color, ("run", "name", "opened", "step", "where", "what"), rows, right=(3,))
    steps = sum(len(hits) for _, hits in found)
    talk.say(f"edgetape: {count(steps, 'step')} in {len(found)} of {count(len(runs), 'run')}")
    if finder.unreadable:
        talk.warn(f"{count(finder.unreadable, 'body', 'bodies')} could not be read: erased or damaged")
    return 0 if found else EXIT_NONE


def _wanted(pattern: str | None, given: Given) -> "Wanted":
    from proxy.views.finding import Wanted

    if pattern is None and given["empty"] is None and given["tool"] is None and given["host"] is None:
        raise Misuse(
            "say what to look for", hint="edgetape find MSA-2041; edgetape find --tool search --empty /results"
        )
    if given["empty"] and not given["empty"].startswith("/"):
        raise Misuse(f"no JSON Pointer: {given['empty']}", hint="--empty /results, or --empty '' for the whole answer")
    try:
        compiled = (
            None if pattern is None else re.compile(pattern if given["regex"] else re.escape(pattern), re.IGNORECASE)
        )
    except re.error as error:
        raise Misuse(f"this is no regular expression: {error}") from error
    return Wanted(compiled, given["host"], given["tool"], given["empty"])


def _is_asked_for(run: "RunInfo", mode: str | None) -> bool:
    return run.mode == mode if mode is not None else run.mode != "replay"


def _found(talk: Talk, finder: "object", runs: "list[RunInfo]") -> "Iterator[tuple[RunInfo, list[Hit]]]":
    from proxy.progress import progress
    from proxy.views.finding import Finder
    from store.core.errors import EdgetapeError
    from store.exchange import steps

    assert isinstance(finder, Finder)
    with progress(talk, "looking", wanted=True) as told:
        for number, run in enumerate(runs, 1):
            try:
                hits = list(finder.hits(steps(finder.reader.events(run.id))))
            except EdgetapeError as error:
                talk.warn(f"run {run.id} was passed over: {error}", error.hint)
                continue
            if hits:
                yield run, hits
            if told is not None:
                told(number, len(runs))


def _report(talk: Talk, reader: "Reader", runs: "list[RunInfo]", folder: Path) -> None:
    from proxy.views.report import report

    for run in runs:
        write("the report", folder / f"{run.id}.html", report(reader, run))
    talk.say(f"edgetape: {count(len(runs), 'report')} in {folder}")


def _record(run: "RunInfo", hit: "Hit") -> dict[str, object]:
    about = {"run": run.id, "name": run.name or None, "mode": run.mode, "opened": run.opened}
    return {**about, "step": hit.step, "where": hit.where, "excerpt": hit.excerpt}


def _row(run: "RunInfo", hit: "Hit") -> tuple[str, ...]:
    name = printable(run.name, one_line=True)
    return run.id, name, moment(run.opened), str(hit.step), hit.where, hit.excerpt
