"""Tells how a replay or a fork ended: on stdout, in files, in a CI's summary, and in words, the verdict last."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from proxy.border import OUR_FAILURE
from proxy.output import keep
from proxy.talk import Talk
from proxy.words import count, printable
from replay_server.report import Report
from store.reasons import reason

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True, slots=True)
class Outlets:
    """Where it is told besides stderr: files for JSON and for JUnit XML, and JSON on stdout."""

    report: Path | None = None
    junit: Path | None = None
    as_json: bool = False


def say_past(talk: Talk, past: Sequence[int]) -> None:
    """Says where an agent read the clock more often than at its recording."""
    for readings in filter(None, past):
        often = count(readings, "time")
        talk.warn(f"the agent read the clock {often} more than it was recorded: from then on it ran on by itself")


def tell(talk: Talk, report: Report, outlets: Outlets, environment: Mapping[str, str] = os.environ) -> int:
    """Says it everywhere, and gives the exit code."""
    written = [
        keep(talk, outlets.report, report.json() + "\n"),
        keep(talk, outlets.junit, _junit(report) if outlets.junit is not None else ""),
        _summarise(talk, report, environment.get(SUMMARY_VARIABLE, "")),
    ]
    if outlets.as_json:
        click.echo(report.json())
    *lines, verdict = report.text().splitlines()
    for line in lines:
        talk.say(printable(line))
    talk.always(printable(verdict))
    return report.exit_code if all(written) else OUR_FAILURE


def _junit(report: Report) -> str:
    from replay_server.junit import junit  # XML is a twentieth of the start of a command

    return junit(report)


def _summarise(talk: Talk, report: Report, path: str) -> bool:
    """Adds to the summary of a GitHub step. What the user did not ask for by an option costs no exit code."""
    if path:
        from replay_server.junit import markdown

        try:
            with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(markdown(report))
        except OSError as error:
            talk.warn(f"{SUMMARY_VARIABLE} cannot be written to {path}: {reason(error)}")
    return True
