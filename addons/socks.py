"""SOCKS5 on the proxy's own port: what a client asks for is handed on as a CONNECT, and is one from there on.

So token, run, tunnel, way out and record are what they are for every other client.
"""

import re

from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode

from store.core import socks

type _Run = layer.CommandGenerator[None]

_HEAD = re.compile(rb"HTTP/1\.1 (\d{3})[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n")
_CODES = {b"200": socks.GRANTED, b"403": socks.NOT_ALLOWED, b"405": socks.NOT_ALLOWED, b"407": socks.NOT_ALLOWED}


class Socks(layer.Layer):
    """One connection of a SOCKS5 client."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._handshake = socks.handshake()
        self._wants = next(self._handshake)
        self._received = b""  # what no one has had yet
        self._http: HttpLayer | None = None
        self._answer = b""
        self._granted = False

    def _handle_event(self, event: events.Event) -> _Run:
        client = self.context.client
        if isinstance(event, events.DataReceived) and event.connection is client and not self._granted:
            self._received += event.data
            if self._http is None:
                yield from self._shake_hands()
        elif self._http is not None:
            yield from self._pass_on(event)
        elif isinstance(event, events.ConnectionClosed):
            yield commands.CloseConnection(client)

    def _shake_hands(self) -> _Run:
        client = self.context.client
        try:
            while not isinstance(self._wants, int) or len(self._received) >= self._wants:
                if isinstance(self._wants, int):
                    taken, self._received = self._received[: self._wants], self._received[self._wants :]
                    self._wants = self._handshake.send(taken)
                else:
                    yield commands.SendData(client, self._wants)
                    self._wants = self._handshake.send(b"")
        except socks.Refused as error:
            yield commands.SendData(client, error.last_words)
            yield commands.CloseConnection(client)
        except StopIteration as end:
            self._http = HttpLayer(self.context, HTTPMode.regular)
            yield from self._pass_on(events.Start())
            yield from self._pass_on(events.DataReceived(client, end.value.head))

    def _pass_on(self, event: events.Event) -> _Run:
        """To the layer that takes us for a client of HTTP, whose answer to the CONNECT is told in SOCKS' words."""
        assert self._http is not None
        client = self.context.client
        for command in self._http.handle_event(event):
            if isinstance(command, commands.SendData) and command.connection is client and not self._granted:
                yield from self._tell(command.data)
            else:
                yield command
        if self._granted and self._received:
            early, self._received = self._received, b""
            yield from self._pass_on(events.DataReceived(client, early))

    def _tell(self, answer: bytes) -> _Run:
        self._answer += answer
        head = _HEAD.match(self._answer)
        if head is None:
            return
        client, code = self.context.client, _CODES.get(head[1], socks.UNREACHED)
        yield commands.SendData(client, socks.reply(code))
        self._granted = code == socks.GRANTED
        rest, self._answer = self._answer[head.end() :], b""
        if not self._granted:
            yield commands.CloseConnection(client)
        elif rest:
            yield commands.SendData(client, rest)
