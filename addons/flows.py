"""The exchanges that are going on: what is known of each until its outcome is recorded, and what has been counted."""

import asyncio
import time
from dataclasses import dataclass, field

from mitmproxy.http import HTTPFlow

from addons.runs import OpenRun, Runs
from addons.tee import Tee
from store.drafting.seen import Pairs
from store.ticket import Ticket


@dataclass(slots=True)
class Counts:
    """What a recorder has seen: `distrusted` counts by host the agents that do not trust our authority; `cut` what
    still went on when its run was to end.
    """

    exchanges: int = 0
    tunnels: int = 0
    refused: int = 0
    failures: int = 0
    cut: int = 0
    distrusted: dict[str, int] = field(default_factory=dict)
    last_failure: str = ""


@dataclass(slots=True, eq=False)
class Live:
    """An exchange whose outcome is not recorded yet; times are of the monotonic clock, in nanoseconds."""

    flow: HTTPFlow
    run: OpenRun
    fields: Pairs
    scheme: str
    host: str
    port: int
    began_ns: int = field(default_factory=time.monotonic_ns)
    handed_ns: int = 0
    first_byte_ns: int = 0
    request: Ticket | None = None
    upload: Tee | None = None
    upload_ended: bool = False
    answer: Tee | None = None
    ending: bool = False
    answered: bool = False
    stopped: bool = False

    @property
    def tees(self) -> list[Tee]:
        """Those that are open."""
        return [tee for tee in (self.upload, self.answer) if tee is not None]


class Flows:
    """Every exchange that is going on, by its flow."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._live: dict[str, Live] = {}
        self._none = asyncio.Event()
        self._none.set()

    def begin(self, live: Live) -> Live:
        """Takes an exchange in, and holds its run open."""
        self._live[live.flow.id] = live
        self._none.clear()
        self._runs.hold(live.run)
        return live

    def get(self, flow: HTTPFlow) -> Live | None:
        """The exchange of a flow; None when it is none of ours, or over."""
        return self._live.get(flow.id)

    def end(self, flow: HTTPFlow) -> None:
        """Lets an exchange go: nothing more of it is recorded."""
        live = self._live.pop(flow.id, None)
        if live is not None:
            for tee in live.tees:
                tee.close()
            if live.request is not None:
                self._runs.forget(live.request)
            self._runs.release(live.run)
        self._look()

    def answered(self, live: Live) -> None:
        """Its outcome is recorded; what may follow (messages, the end of an upload) keeps nobody waiting."""
        live.answered = True
        self._look()

    def _look(self) -> None:
        if all(live.answered for live in self._live.values()):
            self._none.set()

    def left(self, client: str | None = None) -> list[Live]:
        """What is going on and not about to end: on one connection, by the client's id, or on all."""
        return [live for live in self._live.values() if not live.ending and client in (None, live.flow.client_conn.id)]

    def of_run(self, run: OpenRun) -> list[Live]:
        """What is going on in one run."""
        return [live for live in self._live.values() if live.run is run]

    async def until_none(self, seconds_max: float) -> bool:
        """Waits until every exchange has its outcome; False when time ran out first."""
        try:
            async with asyncio.timeout(seconds_max):
                await self._none.wait()
        except TimeoutError:
            return False
        return True
