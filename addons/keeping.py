"""Puts events into the log as durably as was asked for, and answers the agent when that fails.

Rules kept here:
- strict: a hook goes on when its event is on disk. group: it goes on at once, and a failure is noticed at the next
  event; from then on every event is waited for until one succeeds. So it is while the writer is far behind, and with
  what is large.
- What cannot be recorded does not happen: a request that has not left gets a 503, an answer that has not begun is
  replaced by one, and anything already under way is cut. Where it is told to, it lets traffic pass instead while the
  store fails; a fault of ours, such as in redaction, stops it all the same.
- Either way a `gap` event says so as soon as one can be written (`addons.gaps`).
- mitmproxy swallows what a hook raises and goes on unrecorded; so every hook of ours is `watched`, and fails like the
  store.
"""

import asyncio
import contextlib
import functools
import json
from collections.abc import Awaitable, Callable
from typing import Protocol

from mitmproxy.connection import Server
from mitmproxy.http import HTTPFlow, Response

from addons.flows import Counts, Flows, Live
from addons.gaps import Gaps
from addons.options import RecorderOptions
from addons.run_tag import TAG
from addons.runs import OpenRun, Runs, Tag
from store.core.draft import Draft
from store.core.errors import StoreUnusable
from store.drafting.scribe import Part
from store.drafting.seen import Piece, Sight
from store.ticket import Ticket, Told

# In flow.metadata: we answered this flow ourselves; it passes unrecorded, the store having failed.
ANSWERED = "edgetape.answered"
UNRECORDED = "edgetape.unrecorded"
BARRED = "edgetape.barred"  # in flow.metadata: why the server that it is for may not be reached

type Drop = Callable[[str], None]


class Keeping:
    """Everything that is recorded goes through here. `drop` cuts an agent's connection by its client id.

    `sever` cuts one to a server. `was_closed` says whether the server of a flow has closed its connection, and did not
    reset it.
    """

    def __init__(self, runs: Runs, flows: Flows, counts: Counts, options: RecorderOptions) -> None:
        self.runs = runs
        self.gaps = Gaps(runs)
        self.flows = flows
        self.counts = counts
        self.drop: Drop = lambda _: None
        self.sever: Callable[[Server], None] = lambda _: None
        self.was_closed: Callable[[HTTPFlow], bool] = lambda _: False
        self._strict = options.durability == "strict"
        self._passes = options.on_store_failure == "pass"
        self._suspect = False

    def tell(self, options: RecorderOptions) -> None:
        """Another way with traffic that the store does not take from now on."""
        self._passes = options.on_store_failure == "pass"

    async def keep(self, run: OpenRun, said: Draft | Sight, after: Ticket | None = None) -> Ticket:
        """Appends an event. Raises StoreUnusable when it, or the one that it comes after, is known not to be there."""
        if self.passing:
            raise StoreUnusable(self.counts.last_failure)  # nobody waits for a store that is known to fail
        if after is not None and after.error is not None:
            raise after.error
        ticket = self.runs.append(run, said, after)
        large = not isinstance(said, Draft) and said.is_large
        if self._strict or self._suspect or large or self.runs.is_behind:
            await ticket
            self._suspect = False
        else:
            ticket.when_done(self._noticing(run))
        return ticket

    def keep_later(self, run: OpenRun, draft: Draft, after: Ticket | None = None) -> None:
        """Appends an event that nobody can wait for any more."""
        self.runs.append(run, draft, after).when_done(self._noticing(run))

    def piece(self, live: Live, part: Part, piece: Piece) -> None:
        """Keeps a piece of a stream that is still open; the agent's connection is cut when that fails. Where traffic
        may pass, nothing is lost by it: the whole comes at the end.
        """
        loop = asyncio.get_running_loop()

        def check(error: Exception | None) -> None:
            if error is not None and not self._passes:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(self._missed, live.run, error)
                    loop.call_soon_threadsafe(self.drop, live.flow.client_conn.id)

        if live.request is not None and not self.passing:
            self.runs.piece(live.run, live.request, part, piece).when_done(check)

    def failed(self, error: BaseException) -> None:
        """Counts a failure of ours."""
        self.counts.failures += 1
        self.counts.last_failure = self.runs.told(str(error) or type(error).__name__)

    @property
    def passing(self) -> bool:
        """Whether traffic passes unrecorded now, because the store fails."""
        return self._passes and self.gaps.open

    def lost(self, place: OpenRun | Tag, error: BaseException) -> bool:
        """Notes that something cannot be recorded; whether it is to pass all the same."""
        self.failed(error)
        passes = self._passes and isinstance(error, StoreUnusable)
        self.gaps.note(place, self.counts.last_failure, passed=passes)
        return passes

    def end(self, flow: HTTPFlow, hook: str, error: Exception) -> None:
        """Ends an exchange that cannot be recorded, or lets it pass, in the way that the stage which `hook` names still
        allows.
        """
        live = self.flows.get(flow)
        passes = self.lost(flow.metadata.get(TAG, Tag()) if live is None else live.run, error)
        if passes and ANSWERED not in flow.metadata:
            self._let_pass(flow, hook)
        else:
            self._give_up(flow, hook, str(error) or type(error).__name__)

    def _let_pass(self, flow: HTTPFlow, hook: str) -> None:
        if hook == "websocket_message":
            return  # the next one may be recorded again
        self.flows.end(flow)
        flow.metadata[UNRECORDED] = True
        if hook == "requestheaders" and flow.request.stream:
            flow.request.stream = True
        if hook == "responseheaders" and flow.response is not None:
            flow.response.stream = True

    def _give_up(self, flow: HTTPFlow, hook: str, why: str) -> None:
        self.flows.end(flow)
        if _may_answer(flow, hook):
            flow.request.stream = False
            answer(
                flow,
                503,
                "Service Unavailable",
                f"edgetape cannot record this exchange, so it was stopped: {self.runs.told(why)}",
            )
        else:
            if flow.killable:
                flow.kill()  # type: ignore[no-untyped-call]
            self.drop(flow.client_conn.id)

    def _noticing(self, run: OpenRun) -> Told:
        """Sees, in whatever thread tells of it, that an event which nobody waits for is not there."""
        loop = asyncio.get_running_loop()

        def notice(error: Exception | None) -> None:
            if error is not None:
                self._suspect = True
                with contextlib.suppress(RuntimeError):  # the loop has ended: nobody asks any more
                    loop.call_soon_threadsafe(self._missed, run, error)

        return notice

    def _missed(self, run: OpenRun, error: BaseException) -> None:
        self._suspect = True
        self.failed(error)
        self.gaps.note(run, self.counts.last_failure, passed=True)


class Keeps(Protocol):
    """An add-on whose hooks are watched."""

    keeping: Keeping


type Hook[A: Keeps] = Callable[[A, HTTPFlow], Awaitable[None]]


def watched[A: Keeps](hook: Hook[A]) -> Hook[A]:
    """The same hook, whose failure is counted and ends the exchange."""

    @functools.wraps(hook)
    async def run(self: A, flow: HTTPFlow) -> None:
        try:
            await hook(self, flow)
        except Exception as error:  # noqa: BLE001  # mitmproxy would log it and let the exchange pass unrecorded
            self.keeping.end(flow, hook.__name__, error)

    return run


def answer(flow: HTTPFlow, status: int, title: str, detail: str, *fields: tuple[bytes, bytes]) -> None:
    """Answers in the server's place, as problem+json (RFC 9457); the flow counts as none of ours from then on."""
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    head = ((b"Content-Type", b"application/problem+json"), *fields)
    flow.response = Response.make(status, json.dumps(problem).encode(), head)
    flow.response.reason = title
    flow.metadata[ANSWERED] = True


def _may_answer(flow: HTTPFlow, hook: str) -> bool:
    match hook:
        case "http_connect" | "requestheaders":
            return True
        case "request":
            return not flow.request.stream
        case "response":
            return flow.response is not None and not flow.response.stream and flow.response.status_code != 101
    return False
