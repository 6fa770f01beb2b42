"""What makes mitmproxy quicker without changing what it does: a hook that is done at once costs no task of its own.

- mitmproxy runs each hook as a task, which then waits for a lock that its own caller holds: a turn of the event loop
  for every hook. Here a hook that did not have to wait is answered as soon as the commands before it are carried out;
  any other goes on as a task, as there. Hooks are begun in the same order and answered in the same order.
- What goes out to one peer in a row, such as a head and its body, goes out at once: a call of the system for each costs
  more than joining them, and wakes the peer twice.
- The pieces of a streamed answer go straight across, as `addons.relay` says.
- Small steps are taken in fewer (`addons.shortcuts`), and tunnels have a short way in (`addons.straight`).
- uvloop asks for tasks in words that the standard factory for eager tasks does not know, or takes for a no. Here it
  has one that does.

Where mitmproxy is not one that this was tried with, it stays as it is.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any

from mitmproxy import version
from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events, layer, mode_servers
from mitmproxy.utils import asyncio_utils

from addons import records, relay, shortcuts, straight
from addons.dispatch import Dispatch, is_flow

KNOWN = ("12", "3")

_Theirs = mode_servers.ProxyConnectionHandler
_set_theirs = asyncio_utils.set_eager_task_factory


def quicken(*, inline: bool = True) -> bool:
    """Makes connections from now on quick ones, or without `inline` mitmproxy's own; whether they are."""
    known = tuple(version.VERSION.split(".")[:2]) == KNOWN
    quick = inline and known and hasattr(_Theirs, "hook_task") and records.fits()
    mode_servers.ProxyConnectionHandler = _Quick if quick else _Theirs  # type: ignore[misc]
    shortcuts.shorten(on=quick)
    asyncio_utils.set_eager_task_factory = _eager_tasks
    return quick


class _Quick(_Theirs):
    """A connection whose hooks are called in its own turn."""

    async def handle_client(self) -> None:
        io = self.transports[self.client].writer
        if io is not None and io.get_extra_info("peername") is None:
            io.close()  # it was reset before we came to it: nobody is there, and nobody can say who was
            return
        self.layer = _Inline(self.layer, self)  # type: ignore[assignment]
        await super().handle_client()

    async def handle_connection(self, connection: Connection) -> None:
        reader = self.transports[connection].reader
        try:
            await super().handle_connection(connection)
        finally:
            relay.end(reader)

    async def drain_writers(self) -> None:
        """The same, and where more has come already than was taken, others first."""
        await super().drain_writers()  # type: ignore[no-untyped-call]
        if any(getattr(io.reader, "_buffer", None) for io in self.transports.values()):
            await asyncio.sleep(0)

    def begin(self, hook: commands.StartHook) -> Awaitable[None] | None:
        """Calls a hook as far as none has to be awaited; what is then to be awaited, which does the rest."""
        dispatch = getattr(self.master.addons.handle_lifecycle, "__self__", None)
        waiting = dispatch.begin(hook) if isinstance(dispatch, Dispatch) else self.handle_hook(hook)
        (told,) = hook.args()
        if waiting is None and not (is_flow(told) and told.intercepted):
            return None
        return self._undisturbed(waiting, told)

    async def _undisturbed(self, waiting: Awaitable[None] | None, told: object) -> None:
        with self.timeout_watchdog.disarm():
            if waiting is not None:
                await waiting
            if is_flow(told):
                await told.wait_for_resume()  # type: ignore[no-untyped-call]


class _Inline:
    """Stands before the outermost layer, and answers its hooks."""

    def __init__(self, outermost: layer.Layer, connection: _Quick) -> None:
        self._outermost: layer.Layer | straight.Inside = outermost
        self._connection = connection

    def handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """The commands of the layer but for its hooks, which are called here."""
        due: deque[events.Event] = deque((event,))
        held: commands.SendData | None = None
        try:
            while due:
                event = due.popleft()
                for command in self._commands(event):
                    if held is not None:
                        if straight.continues(command, held):
                            held = commands.SendData(held.connection, held.data + command.data)
                            continue
                        yield held
                        held = None
                    if isinstance(command, commands.SendData):
                        held = command
                    elif not isinstance(command, commands.StartHook):
                        yield command
                    elif self._is_done(command) and command.blocking:
                        due.append(events.HookCompleted(command))
                if straight.opens(event) and isinstance(self._outermost, layer.Layer):
                    self._outermost = straight.inside(self._outermost) or self._outermost
        except Exception:
            if held is not None:
                yield held
            for late in due:  # one event that crashes the layer costs no other its turn
                self._task(self._connection.server_event(late), "handle_hook")
            raise
        if held is not None:
            yield held

    def _commands(self, event: events.Event) -> layer.CommandGenerator[None]:
        """The commands of the layer but for what is meant for us."""
        for command in self._outermost.handle_event(event):
            if not isinstance(command, relay.Streams):
                yield command
            else:
                relay.begin(self._connection, command.stream)

    def _is_done(self, hook: commands.StartHook) -> bool:
        """Calls a hook; one that has to wait is answered when it is done."""
        waiting = self._connection.begin(hook)
        if waiting is None:
            return True
        late = False

        async def call() -> None:
            await waiting
            if late and hook.blocking:
                await self._connection.server_event(events.HookCompleted(hook))

        task = self._task(call(), f"handle_hook({hook.name})")
        late = not task.done()
        return not late and not task.cancelled() and task.exception() is None

    def _task(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        peer = self._connection.client.peername
        return asyncio_utils.create_task(work, name=name, keep_ref=True, client=peer)


@contextmanager
def _eager_tasks() -> Iterator[None]:
    loop = asyncio.get_running_loop()
    if type(loop).__module__.partition(".")[0] != "uvloop":
        with _set_theirs():
            yield
        return
    before = loop.get_task_factory()
    loop.set_task_factory(_eager_task)
    try:
        yield
    finally:
        loop.set_task_factory(before)


def _eager_task(
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, Any],
    *,
    name: str | None = None,
    context: Context | None = None,
    eager_start: bool | None = None,
) -> asyncio.Task[Any]:
    return asyncio.Task(work, loop=loop, name=name, context=context, eager_start=eager_start is not False)
