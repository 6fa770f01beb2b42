"""Our way to call hooks does what mitmproxy's own does, in the same order."""

import asyncio
from collections.abc import Sequence

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


class Changed(Plain):
    def update(self, flows: list[object]) -> None:
        self._heard.append(f"{self.name} changed")


def manager(heard: list[str], kinds: Sequence[type[Plain]], error: type[Exception] | None) -> AddonManager:
    master = Master(options.Options())
    for number, kind in enumerate(kinds):
        master.addons.add(kind(f"{number}", heard, error if number == 1 else None))  # type: ignore[no-untyped-call]
    return master.addons


@pytest.mark.parametrize("error", [None, RuntimeError, AddonHalt])
@pytest.mark.parametrize("kinds", [(Slow, Plain, Slow), (Plain, Slow, Slow, Plain), (Plain, Plain, Changed)])
async def test_calls_and_their_order_are_those_of_mitmproxy(
    kinds: Sequence[type[Plain]], error: type[Exception] | None
) -> None:
    theirs: list[str] = []
    ours: list[str] = []
    hook = HttpRequestHeadersHook(tflow.tflow())
    await manager(theirs, kinds, error).handle_lifecycle(hook)
    dispatch = Dispatch(manager(ours, kinds, error))
    await dispatch.handle_lifecycle(hook)
    assert ours == theirs
    assert ours[0] == "0"
    await dispatch.handle_lifecycle(hook)
    assert ours == theirs * 2


async def test_nothing_is_awaited_where_nobody_waits() -> None:
    heard: list[str] = []
    hook = HttpRequestHeadersHook(tflow.tflow())
    assert Dispatch(manager(heard, (Plain, Changed), RuntimeError)).begin(hook) is None
    assert heard == ["0", "1", "1 changed"]


class Stubborn:
    """Waits for a first and a second word, and hears when it is told to stop waiting for them."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.words = [asyncio.Event(), asyncio.Event(), asyncio.Event()]

    async def requestheaders(self, _: object) -> None:
        self.heard.append("begun")
        for word in self.words:
            try:
                await word.wait()
            except asyncio.CancelledError:
                self.heard.append("stop")
            else:
                self.heard.append("word")


async def test_what_is_begun_without_a_task_hears_all_that_its_task_does() -> None:
    addon = Stubborn()
    master = Master(options.Options())
    master.addons.add(addon)  # type: ignore[no-untyped-call]
    waiting = Dispatch(master.addons).begin(HttpRequestHeadersHook(tflow.tflow()))
    assert waiting is not None
    assert addon.heard == ["begun"]

    async def wait() -> None:
        await waiting

    task = asyncio.create_task(wait())
    for told in (task.cancel, task.cancel, addon.words[2].set):
        await asyncio.sleep(0)
        told()
    await task
    assert addon.heard == ["begun", "stop", "stop", "word"]
