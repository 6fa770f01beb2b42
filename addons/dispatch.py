"""Calls the hooks of a fixed list of add-ons without looking for them at every event.

mitmproxy asks each add-on for each hook by name, twice an event; that is a fifth of its time. The order of calls, the
waiting for those that are coroutines, and what happens to one that raises stay as they are.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator
from inspect import isawaitable

from mitmproxy.addonmanager import AddonManager, traverse
from mitmproxy.exceptions import AddonHalt
from mitmproxy.flow import Flow
from mitmproxy.hooks import Hook

_log = logging.getLogger("mitmproxy.addonmanager")

type Call = Callable[..., object]


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
        if not isinstance(subject, Flow) or not self._known("update"):
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
            except AddonHalt:
                return None
            except Exception as error:  # noqa: BLE001  # as mitmproxy does; whoever watches the log acts on it
                _tell(error)
                continue
            if result is not None and isawaitable(result):
                return result
        return None

    def _known(self, name: str) -> tuple[Call, ...]:
        known = self._calls.get(name)
        if known is None:
            addons = traverse(self._manager.chain)  # type: ignore[no-untyped-call]
            named = (getattr(addon, name, None) for addon in addons)
            known = self._calls[name] = tuple(call for call in named if callable(call))
        return known


def _tell(error: Exception) -> None:
    _log.error("Addon error: %s", error, exc_info=error)
