"""Small steps that mitmproxy takes many times for each connection, taken in fewer: the outcome is the same.

- A forked context made a server, with an id of its own, only to put the other one in its place.
- An option was copied twice each time that it was read, also where nothing of it can be changed.
- Connections were compared by their ids, and whether both are connections was asked of an abstract class.
- The names of a hook's members, and whether it is one at all, were looked up each time; so were those of headers.
- The watch over silent connections was stopped by a generator for each hook.
- A layer asked at each command whether it is watched by somebody who debugs it, and a tunnel made a generator for each
  that it only handed on.
- An address was read anew to be shown in a log that nobody writes; so was a certificate that had come before.
- Commands between the parts of HTTP went up and down through as many generators as there were parts; and an id was made
  by way of an object that knows much about ids.

Whoever asks knows that this mitmproxy is one that this was tried with (`addons.quickening`).
"""

import copy
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from types import ModuleType, SimpleNamespace
from typing import Any

from mitmproxy import certs, connection, flow, hooks, http, optmanager
from mitmproxy.proxy import commands, context, events, layer, server, tunnel
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers.http import _base as http_base
from mitmproxy.proxy.layers.http._events import RequestHeaders
from mitmproxy.utils import human

from addons.handshakes import certificate

_UNCHANGING = (bool, int, float, str, bytes, type(None))
_CONNECTIONS = (connection.Client, connection.Server)
_members: dict[type, tuple[str, ...]] = {}


def _fork(self: context.Context) -> context.Context:
    fork = context.Context.__new__(context.Context)
    fork.client, fork.server, fork.options = self.client, self.server, self.options
    fork.layers = self.layers.copy()
    return fork


def _current(self: optmanager._Option) -> object:
    value = self._default if self.value is optmanager.unset else self.value
    if value.__class__ in _UNCHANGING:
        return value
    return copy.deepcopy(value) if value else copy.copy(value)


def _is_same(self: connection.Connection, other: object) -> bool:
    if self is other:
        return True
    known = other.__class__ in _CONNECTIONS or isinstance(other, connection.Connection)
    return known and self.id == other.id  # type: ignore[attr-defined]


def _arguments(self: hooks.Hook) -> list[object]:
    kind = self.__class__
    names = _members.get(kind)
    if names is None:
        names = _members[kind] = tuple(field.name for field in fields(self))  # type: ignore[arg-type]
    return [getattr(self, name) for name in names]


def _new(cls: type, *_: object, **__: object) -> object:
    return object.__new__(cls)


def _name(key: str | bytes) -> bytes:
    return (key if isinstance(key, bytes) else key.encode("utf-8", "surrogateescape")).lower()


def _all(self: http.Headers, name: str | bytes) -> list[str]:
    wanted = _name(name)
    return [value.decode("utf-8", "surrogateescape") for field, value in self.fields if field.lower() == wanted]


def _get(self: http.Headers, key: str | bytes, default: object = None) -> object:
    values = _all(self, key)
    return ", ".join(values) if values else default


def _has(self: http.Headers, key: object) -> bool:
    if not isinstance(key, str | bytes):
        return False
    wanted = _name(key)
    return any(field.lower() == wanted for field, _ in self.fields)


def _disarm(self: server.TimeoutWatchdog) -> server.TimeoutWatchdog:
    return self


def _enter(self: server.TimeoutWatchdog) -> None:
    self.can_timeout.clear()
    self.blocker += 1


def _leave(self: server.TimeoutWatchdog, *_: object) -> None:
    self.blocker -= 1
    if self.blocker == 0:
        self.last_activity = time.time()
        self.can_timeout.set()


def _handle(self: layer.Layer, event: events.Event) -> layer.CommandGenerator[None]:
    if self.debug is not None:
        yield from _theirs[layer.Layer, "handle_event"](self, event)
        return
    paused = self._paused
    if paused is not None:
        if isinstance(event, events.CommandCompleted) and event.command is paused.command:
            yield from self._Layer__continue(event)  # type: ignore[attr-defined]
        else:
            self._paused_event_queue.append(event)
        return
    going = self._handle_event(event)
    for command in going:
        if command.blocking is True:
            command.blocking = self
            self._paused = layer.Paused(command, going)
            yield command
            return
        yield command


def _to_child(self: tunnel.TunnelLayer, event: events.Event) -> layer.CommandGenerator[None]:
    if self.tunnel_state is tunnel.TunnelState.ESTABLISHING and not self.command_to_reply_to:
        self._event_queue.append(event)
        return
    for command in self.child_layer.handle_event(event):
        if isinstance(command, commands.ConnectionCommand) and command.connection == self.conn:
            yield from self._handle_command(command)
        else:
            yield command


def _between(
    self: http_layers.HttpLayer, child: layer.Layer | http_layers.HttpStream, event: events.Event
) -> layer.CommandGenerator[None]:
    going: list[tuple[layer.Layer, Iterator[commands.Command]]] = [(child, child.handle_event(event))]
    while going:
        at, said = going[-1]
        for command in said:
            if command.blocking or isinstance(command, commands.RequestWakeup):
                self.command_sources[command] = at
            if not isinstance(command, http_base.HttpCommand):
                if isinstance(command, commands.OpenConnection):
                    self.connections[command.connection] = at
                yield command
                continue
            if isinstance(command, http_layers.SendHttp):
                then: layer.Layer | None = self.connections[command.connection]
            elif isinstance(command, http_base.ReceiveHttp):
                if isinstance(command.event, RequestHeaders):
                    yield from self.make_stream(command.event.stream_id)
                then = self.streams.get(command.event.stream_id)
            else:
                yield from _told(self, command)
                continue
            if then is not None:
                going.append((then, then.handle_event(command.event)))
                break
        else:
            going.pop()


def _told(self: http_layers.HttpLayer, command: commands.Command) -> layer.CommandGenerator[None]:
    if isinstance(command, http_layers.DropStream):
        self.streams.pop(command.stream_id, None)
    elif isinstance(command, http_layers.GetHttpConnection):
        yield from self.get_connection(command)
    elif isinstance(command, http_layers.RegisterHttpConnection):
        yield from self.register_connection(command)
    else:
        raise AssertionError(f"Not a command: {command}")


def _uuid4() -> str:
    drawn = bytearray(os.urandom(16))
    drawn[6] = drawn[6] & 0x0F | 0x40  # RFC 9562, section 5.4
    drawn[8] = drawn[8] & 0x3F | 0x80
    told = drawn.hex()
    return f"{told[:8]}-{told[8:12]}-{told[12:16]}-{told[16:20]}-{told[20:]}"


@lru_cache(maxsize=1024)
def _shown(host: str) -> str:
    shown: str = _theirs[human, "format_address"]((host, ""))
    return shown


def _format_address(address: tuple[str, int] | None) -> str:
    if address is None:
        return "<no address>"
    return f"{_shown(address[0])}{address[1]}"


_SHORTER: Sequence[tuple[type | ModuleType, str, object]] = (
    (context.Context, "fork", _fork),
    (optmanager._Option, "current", _current),
    (connection.Connection, "__eq__", _is_same),
    (hooks.Hook, "args", _arguments),
    (commands.StartHook, "__new__", _new),
    (events.CommandCompleted, "__new__", _new),
    (http.Headers, "get_all", _all),
    (http.Headers, "get", _get),
    (http.Headers, "__contains__", _has),
    (layer.Layer, "handle_event", _handle),
    (tunnel.TunnelLayer, "event_to_child", _to_child),
    (http_layers.HttpLayer, "event_to_child", _between),
    (flow, "uuid", SimpleNamespace(uuid4=_uuid4)),
    (connection, "uuid", SimpleNamespace(uuid4=_uuid4)),
    (human, "format_address", _format_address),
    (certs.Cert, "from_pyopenssl", staticmethod(certificate)),
    (server.TimeoutWatchdog, "disarm", _disarm),
    (server.TimeoutWatchdog, "__enter__", _enter),
    (server.TimeoutWatchdog, "__exit__", _leave),
)
_theirs: dict[tuple[type | ModuleType, str], Any] = {(kind, name): vars(kind).get(name) for kind, name, _ in _SHORTER}


def shorten(*, on: bool) -> None:
    """Takes the shorter steps from now on, or again mitmproxy's own."""
    for kind, name, ours in _SHORTER:
        theirs = _theirs[kind, name]
        if on:
            setattr(kind, name, ours)
        elif theirs is not None:
            setattr(kind, name, theirs)
        elif name in vars(kind):
            delattr(kind, name)
