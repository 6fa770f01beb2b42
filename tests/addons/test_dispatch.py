"""Our way to call hooks does what mitmproxy's own does, in the same order."""

import asyncio

import pytest
from mitmproxy import options
from mitmproxy.addonmanager import AddonManager
from mitmproxy.exceptions import AddonHalt
from mitmproxy.master import Master
from mitmproxy.proxy.layers.http._hooks import HttpRequestHeadersHook
from mitmproxy.test import tflow

from addons.dispatch import Dispatch


class Plain:
    def __init__(self, name: str, heard: list[str], error: type[Exception] | None = None) -> None:
        self.name = name
        self._heard = heard
        self._error = error

    def requestheaders(self, flow: object) -> None:
        self._heard.append(self.name)
        if self._error is not None:
            raise self._error("as asked")


class Slow(Plain):
    async def requestheaders(self, flow: object) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().requestheaders(flow)

    def update(self, flows: list[object]) -> None:
        self._heard.append(f"{self.name} updated")


def manager(heard: list[str], error: type[Exception] | None) -> AddonManager:
    master = Master(options.Options())
    master.addons.add(Slow("a", heard), Plain("b", heard, error), Slow("c", heard))  # type: ignore[no-untyped-call]
    return master.addons


@pytest.mark.parametrize("error", [None, RuntimeError, AddonHalt])
async def test_calls_and_their_order_are_those_of_mitmproxy(error: type[Exception] | None) -> None:
    theirs: list[str] = []
    ours: list[str] = []
    hook = HttpRequestHeadersHook(tflow.tflow())
    await manager(theirs, error).handle_lifecycle(hook)
    dispatch = Dispatch(manager(ours, error))
    await dispatch.handle_lifecycle(hook)
    assert ours == theirs
    assert ours[0] == "a"
    await dispatch.handle_lifecycle(hook)
    assert ours == theirs * 2
