"""What a connection sends in a row goes out in one piece; nothing is held back for a hook, a command or a fault."""

from collections.abc import Iterable, Iterator
from typing import cast

import pytest
from mitmproxy.connection import Server
from mitmproxy.proxy import commands, events, layer

from addons import straight
from addons.quickening import _Inline, _Quick

HERE, THERE = Server(address=("here", 1)), Server(address=("there", 2))


class Says:
    """A layer that gives these commands, and then breaks where it is told to."""

    def __init__(self, said: Iterable[commands.Command], *, breaks: bool = False) -> None:
        self._said = said
        self._breaks = breaks

    def handle_event(self, event: events.Event) -> Iterator[commands.Command]:
        """The commands."""
        yield from self._said
        if self._breaks:
            raise RuntimeError("as asked")


def sent(connection: Server, data: bytes) -> commands.SendData:
    return commands.SendData(connection, data)


def given(says: Says) -> Iterator[tuple[str, bytes]]:
    inline = _Inline(cast("layer.Layer", says), cast("_Quick", None))
    for command in inline.handle_event(events.Start()):
        is_data = isinstance(command, commands.SendData)
        yield (command.connection.address[0], command.data) if is_data else (type(command).__name__, b"")  # type: ignore[attr-defined]


def test_a_row_for_one_peer_goes_out_at_once() -> None:
    row = [sent(HERE, b"head "), sent(HERE, b"body"), sent(THERE, b"other"), sent(HERE, b"more")]
    assert list(given(Says(row))) == [("here", b"head body"), ("there", b"other"), ("here", b"more")]


def test_nothing_is_held_back_for_another_command() -> None:
    row = [sent(HERE, b"last words"), commands.CloseConnection(HERE), sent(THERE, b"x"), commands.Log("y")]
    assert list(given(Says(row))) == [("here", b"last words"), ("CloseConnection", b""), ("there", b"x"), ("Log", b"")]


def test_what_was_said_before_a_fault_goes_out() -> None:
    said = given(Says([sent(HERE, b"said")], breaks=True))
    assert next(said) == ("here", b"said")
    with pytest.raises(RuntimeError, match="as asked"):
        next(said)


def test_what_is_long_is_not_copied_once_more() -> None:
    long = bytes(straight.TOGETHER_BYTES_MAX)
    assert list(given(Says([sent(HERE, b"head"), sent(HERE, long)]))) == [("here", b"head"), ("here", long)]
