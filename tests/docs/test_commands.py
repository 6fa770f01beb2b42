"""Every `edgetape` command shown in a page is one that the program has, with options that it knows."""

import re
import shlex
from collections.abc import Sequence

import click
import pytest

from proxy.cli import group
from tests.docs.pages import pages, shell_lines, text

ENDS_A_COMMAND = re.compile(r"\s(?:\||&&|\|\||;|>|2>|<|#)\s?")
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*edgetape\b(.*)")


def shown() -> list[str]:
    """The commands that pages show, each `edgetape ...` as one line."""
    lines = [(line, page) for page in pages() for line in shell_lines(page)]
    return sorted({ENDS_A_COMMAND.split(line)[0] for line, _ in lines if COMMAND.fullmatch(line)})


def why_wrong(command: click.Command, words: Sequence[str], parent: click.Context | None = None) -> str | None:
    """What click would say to these words, or None. Nothing is run, and no value is checked."""
    context = click.Context(command, parent=parent, info_name=command.name)
    try:
        _, rest, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return error.format_message()
    if not isinstance(command, click.Group) or not rest:
        return None
    below = command.get_command(context, rest[0])
    return f"no command {rest[0]!r}" if below is None else why_wrong(below, rest[1:], context)


def words_of(line: str) -> list[str]:
    """The words after `edgetape`, with the brackets of optional parts taken off."""
    found = COMMAND.fullmatch(line)
    assert found
    return shlex.split(re.sub(r"[\[\]]", " ", found[1]).replace("...", " "))


def test_every_command_shown_is_known() -> None:
    lines = shown()
    assert lines
    assert {line: wrong for line in lines if (wrong := why_wrong(group, words_of(line)))} == {}


def test_every_command_is_told_of_somewhere() -> None:
    written = "\n".join(text(page) for page in pages())
    untold = [name for name in group.list_commands(click.Context(group)) if f"edgetape {name}" not in written]
    assert untold == []


@pytest.mark.parametrize("line", ["edgetape no-such-command", "edgetape runs --no-such-option"])
def test_an_unknown_command_is_seen(line: str) -> None:
    assert why_wrong(group, words_of(line))
