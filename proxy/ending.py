"""Tells how a replay or a fork ended: on stdout, in a file, and in words of which the verdict is the last line."""

from pathlib import Path

import click

from proxy.border import OUR_FAILURE
from proxy.talk import Talk
from proxy.words import printable
from replay_server.report import Report


def tell(talk: Talk, report: Report, *, path: Path | None, as_json: bool) -> int:
    """Says it everywhere, and gives the exit code."""
    written = path is None or _write(talk, report, path)
    if as_json:
        click.echo(report.json())
    *lines, verdict = report.text().splitlines()
    for line in lines:
        talk.say(printable(line))
    talk.always(printable(verdict))
    return report.exit_code if written else OUR_FAILURE


def _write(talk: Talk, report: Report, path: Path) -> bool:
    try:
        path.write_text(report.json() + "\n", "utf-8")
    except OSError as error:
        talk.error(f"the report cannot be written to {path}: {error.strerror}")
        return False
    return True
