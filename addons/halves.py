"""How one direction of a tunnel ends and the other goes on, as TCP has it (RFC 9293, section 3.6).

mitmproxy 12 ends both inside of a CONNECT or an upgrade, and what the other side had still to say is lost. Here the end
of what one side says is passed on, and ends nothing else.
"""

from typing import TypeGuard

from mitmproxy.proxy import commands, context, events, layer

from store.halves import still_listens


class Ended(commands.Command):
    """One side will say no more: `half` is for the other, past the layers outside, which would end both."""

    def __init__(self, half: commands.CloseTcpConnection) -> None:
        self.half = half


class Halves:
    """Stands before what is inside of a tunnel, for one event, and marks where only one direction has ended."""

    def __init__(self, within: layer.Layer, at: context.Context) -> None:
        self.within = within
        self._at = at

    def handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """The commands of what is inside."""
        for command in self.within.handle_event(event):
            yield Ended(command) if is_half(command, self._at) else command


def is_half(command: commands.Command, at: context.Context) -> TypeGuard[commands.CloseTcpConnection]:
    """Whether a command ends one direction only.

    An agent that has ended its own counts as gone where nobody can tell (`store.halves`); so does one on whose
    connection other streams may go on.
    """
    if not isinstance(command, commands.CloseTcpConnection) or not command.half_close or at.client.alpn == b"h2":
        return False
    return command.connection is at.client or still_listens(at.client.peername, at.client.sockname)
