"""Calls the hooks of a fixed list of add-ons without looking for them at every event.

mitmproxy asks each add-on for each hook by name, twice an event; that is a fifth of its time. The order of calls, the
waiting for those that are coroutines, and what happens to one that raises stay as they are.

A coroutine is begun by whoever calls it, and only what is left of it once it waits needs a task. So until then it must
not ask for the task that it runs in, as `asyncio.timeout` does: that is not its own yet.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from inspect import isawaitable
from types import CoroutineType
from typing import TypeGuard

from mitmproxy.addonmanager import AddonManager, traverse
from mitmproxy.exceptions import AddonHalt
from mitmproxy.flow import Flow
from mitmproxy.hooks import Hook

_log = logging.getLogger("mitmproxy.addonmanager")

type Call = Callable[..., object]

_flows: dict[type, bool] = {}  # whether objects of a class are flows: to ask an abstract class is dear


class Dispatch:
    """What takes the place of `AddonManager.handle_lifecycle`; add-ons that are added afterwards are not heard."""

    def __init__(self, manager: AddonManager) -> None:
        self._manager = manager
        self._calls: dict[str, tuple[Call, ...]] = {}

    async def handle_lifecycle(self, event: Hook) -> None:
        """Calls every add-on that has the hook, in order; then, for a flow, those that hear of every change."""
        waiting = self.begin(event)
        if waiting is not None:
            await waiting

    def begin(self, event: Hook) -> Awaitable[None] | None:
        """Calls them as far as none has to be awaited; what is then to be awaited, which does the rest."""
        arguments = event.args()
        waiting = self._begin(event.name, arguments)
        subject = arguments[0]
        if not is_flow(subject) or not self._known("update"):
            return waiting
        return self._begin("update", [[subject]]) if waiting is None else self._then_changed(waiting, subject)

    async def _then_changed(self, waiting: Awaitable[None], flow: Flow) -> None:
        await waiting
        changed = self._begin("update", [[flow]])
        if changed is not None:
            await changed

    def _begin(self, name: str, arguments: list[object]) -> Awaitable[None] | None:
        calls = iter(self._known(name))
        waiting = self._next(calls, arguments)
        return None if waiting is None else self._go_on(waiting, calls, arguments)

    async def _go_on(self, waiting: Awaitable[object] | None, calls: Iterator[Call], arguments: list[object]) -> None:
        while waiting is not None:
            try:
                await waiting
            except AddonHalt:
                return
            except Exception as error:  # noqa: BLE001  # as for those that are not awaited
                _tell(error)
            waiting = self._next(calls, arguments)

    def _next(self, calls: Iterator[Call], arguments: list[object]) -> Awaitable[object] | None:
        """What the next add-on has to be awaited for; None at the end."""
        for call in calls:
            try:
                result = call(*arguments)
                waiting = None if result is None else _begun(result)
            except AddonHalt:
                return None
            except Exception as error:  # noqa: BLE001  # as mitmproxy does; whoever watches the log acts on it
                _tell(error)
                continue
            if waiting is not None:
                return waiting
        return None

    def _known(self, name: str) -> tuple[Call, ...]:
        known = self._calls.get(name)
        if known is None:
            addons = traverse(self._manager.chain)  # type: ignore[no-untyped-call]
            named = (getattr(addon, name, None) for addon in addons)
            known = self._calls[name] = tuple(call for call in named if callable(call))
        return known


def is_flow(subject: object) -> TypeGuard[Flow]:
    """Whether that is a flow, of whatever kind."""
    kind = type(subject)
    known = _flows.get(kind)
    if known is None:
        known = _flows[kind] = isinstance(subject, Flow)
    return known


class _Begun:
    """A coroutine that has gone as far as where it waits for the first time."""

    __slots__ = ("_waits_for", "_work")

    def __init__(self, work: Coroutine[object, object, object], waits_for: object) -> None:
        self._work = work
        self._waits_for = waits_for

    def __await__(self) -> Generator[object, object, object]:
        waits_for = self._waits_for
        while True:
            try:
                yield waits_for
            except BaseException as error:  # noqa: BLE001  # such as being cancelled, which is for the coroutine to hear
                try:
                    waits_for = self._work.throw(error)
                except StopIteration as end:
                    return end.value
            else:
                return (yield from self._work.__await__())


def _begun(result: object) -> Awaitable[object] | None:
    """Goes on with a coroutine as far as it does not wait; what is then to be awaited."""
    if not isinstance(result, CoroutineType):
        return result if isawaitable(result) else None
    try:
        waits_for = result.send(None)
    except StopIteration:
        return None
    return _Begun(result, waits_for)


def _tell(error: Exception) -> None:
    _log.error("Addon error: %s", error, exc_info=error)
