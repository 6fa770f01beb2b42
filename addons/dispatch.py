"""Calls the hooks of a fixed list of add-ons without looking for them at every event.

mitmproxy asks each add-on for each hook by name, twice an event; that is a fifth of its time. The order of calls, the
waiting for those that are coroutines, and what happens to one that raises stay as they are.
"""

import logging
from collections.abc import Callable
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
        arguments = event.args()
        await self._call(event.name, arguments)
        if isinstance(arguments[0], Flow):
            await self._call("update", [[arguments[0]]])

    async def _call(self, name: str, arguments: list[object]) -> None:
        for call in self._known(name):
            try:
                result = call(*arguments)
                if result is not None and isawaitable(result):
                    await result
            except AddonHalt:
                return
            except Exception as error:  # noqa: BLE001  # as mitmproxy does; whoever watches the log acts on it
                _log.error("Addon error: %s", error, exc_info=error)

    def _known(self, name: str) -> tuple[Call, ...]:
        known = self._calls.get(name)
        if known is None:
            addons = traverse(self._manager.chain)  # type: ignore[no-untyped-call]
            named = (getattr(addon, name, None) for addon in addons)
            known = self._calls[name] = tuple(call for call in named if callable(call))
        return known
