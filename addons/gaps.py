"""What could not be recorded is recorded as such: a `gap` event, as soon as the store takes one.

Rules kept here:
- A run has one gap at a time, which grows with every failure until it is written.
- It is written before the next event of its run, before the run's end, and every RETRY_S until it is there.
- What was lost of a run that could not even be opened waits for the next one of that name; if none comes, one is
  opened for it when the recorder stops.
"""

import asyncio
import contextlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from addons.runs import OpenRun, Runs, Tag
from store.core.draft import Draft, Sheet
from store.core.errors import EdgetapeError
from store.core.event import timestamp
from store.core.model import Gap
from store.core.redact import stored

RETRY_S = 1.0


@dataclass(slots=True)
class Loss:
    """What is not on record: from when, to when, why, and how often it passed all the same or was stopped."""

    since: str
    until: str
    why: str
    passed: int = 0
    stopped: int = 0

    def grow(self, now: str, *, passed: bool) -> None:
        """One more."""
        self.until = now
        self.passed += passed
        self.stopped += not passed

    def joined(self, other: "Loss") -> "Loss":
        """Both as one; `other` came later."""
        counts = self.passed + other.passed, self.stopped + other.stopped
        return Loss(self.since, other.until, self.why, *counts)

    def beyond(self, told: "Loss") -> "Loss | None":
        """What came since it was as it was `told`."""
        more = self.passed - told.passed, self.stopped - told.stopped
        return Loss(told.until, self.until, self.why, *more) if any(more) else None

    def draft(self) -> Draft:
        """The event that says so."""
        sheet = Sheet()
        words = f"{self.passed} passed unrecorded, {self.stopped} stopped: {self.why}"
        return sheet.draft(Gap(since=self.since, until=self.until, reason=sheet.text(stored(words.encode()))))


class Gaps:
    """The losses of one recorder that are not written yet."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._of_runs: dict[OpenRun, Loss] = {}
        self._of_tags: dict[Tag, Loss] = {}
        self._telling: set[OpenRun] = set()
        self._retrying: asyncio.Task[None] | None = None
        runs.before = self.tell

    @property
    def open(self) -> bool:
        """Whether something is lost that the store has not taken yet: as far as is known, it still fails."""
        return bool(self._of_runs or self._of_tags)

    def note(self, place: OpenRun | Tag, why: str, *, passed: bool) -> None:
        """Something of a run, or of one that could not be opened, is not on record."""
        now = timestamp(datetime.now(UTC))
        if isinstance(place, Tag):
            loss = self._of_tags.setdefault(place, Loss(now, now, why))
        elif place.closed:
            return  # nothing may follow its end; the recorder's counts tell of it
        else:
            loss = self._of_runs.setdefault(place, Loss(now, now, why))
        loss.grow(now, passed=passed)
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.get_running_loop().create_task(self._retry())

    def tell(self, run: OpenRun) -> None:
        """Writes what is lost of a run, unless that is being done."""
        for tag in [tag for tag in self._of_tags if self._runs.means(tag, run)]:
            loss, known = self._of_tags.pop(tag), self._of_runs.get(run)
            self._of_runs[run] = loss if known is None else loss.joined(known)
        due = self._of_runs.get(run)
        if due is None or run in self._telling or run.closed:
            return
        self._telling.add(run)
        loop, as_told = asyncio.get_running_loop(), replace(due)

        def told(error: Exception | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody asks any more
                loop.call_soon_threadsafe(self._told, run, as_told, error is None)

        self._runs.write(run, due.draft()).when_done(told)

    async def settle(self) -> None:
        """Opens a run for what is lost of those that could not be opened, where the store takes one now."""
        if self._retrying is not None:
            self._retrying.cancel()
        await self._open_runs()

    def _told(self, run: OpenRun, as_told: Loss, written: bool) -> None:
        self._telling.discard(run)
        loss = self._of_runs.pop(run, None)
        rest = loss.beyond(as_told) if written and loss is not None else loss
        if rest is not None and not run.closed:
            self._of_runs[run] = rest

    async def _retry(self) -> None:
        while self.open:
            await asyncio.sleep(RETRY_S)
            await self._open_runs()
            for run in list(self._of_runs):
                self.tell(run)
                if run.closed:
                    del self._of_runs[run]

    async def _open_runs(self) -> None:
        for tag in list(self._of_tags):
            with contextlib.suppress(EdgetapeError):
                self.tell(await self._runs.of(tag))
