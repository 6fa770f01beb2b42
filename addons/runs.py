"""The runs that are open in this recorder: found by name, opened when asked for, closed when nothing uses them.

Rules kept here:
- The name of a closed run opens a new run of that name.
- A run that the recorder opened by itself is closed when it has been idle; one that was opened for it lives until told.
- A child names the newest event of its parent, and the parent gets a `run.spawn`.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import store
from addons.options import RecorderOptions
from store.core import digest
from store.core.base import Base
from store.core.draft import Draft, Sheet
from store.core.errors import InvalidEvent
from store.core.model import Agent, CloseReason, Parent, Policies, RunOpen, RunSpawn
from store.core.redact import RULES, Redacted, Redactor, stored
from store.labels import classify
from store.ticket import Ticket
from store.writer import Part, Writer


@dataclass(frozen=True, slots=True)
class Tag:
    """What a request says of the run that it belongs to; empty means the listener's own run, or no parent."""

    name: str = ""
    parent: str = ""


@dataclass(slots=True, eq=False)
class OpenRun:
    """A run that may still be written to. `held` counts what is going on in it."""

    id: str
    names: tuple[str, ...]
    redactor: Redactor
    last: Ticket
    closes_when_idle: bool
    held: int = 0
    closed: bool = False
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)
    quiet: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def __post_init__(self) -> None:
        self.quiet.set()

    async def until_quiet(self, seconds_max: float) -> bool:
        """Waits until nothing goes on in it; False when time ran out first."""
        try:
            async with asyncio.timeout(seconds_max):
                await self.quiet.wait()
        except TimeoutError:
            return False
        return True


class Runs:
    """All open runs of one recorder. `before` is told of a run that something is about to be written into."""

    def __init__(self, writer: Writer, options: RecorderOptions) -> None:
        self._writer = writer
        self._options = options
        self._by_name: dict[str, OpenRun] = {}
        self._own: OpenRun | None = None
        self._adopted: OpenRun | None = None
        self._opening = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self.before: Callable[[OpenRun], None] = lambda _: None

    def adopt(self, draft: Draft, name: str, redactor: Redactor) -> OpenRun:
        """Opens a run that takes all traffic which names no other, until it is closed by `close`."""
        self._own = self._adopted = self._open(draft, name, redactor, closes_when_idle=False)
        return self._own

    def told(self, words: str) -> str:
        """Words of ours, such as an error's, without the secrets that the environment holds or that look like some."""
        return Redactor(self._options.secrets).plain(words).content.decode("utf-8", "replace")

    async def of(self, tag: Tag) -> OpenRun:
        """The open run that a tag means, opened if need be. Raises StoreUnusable when its parent was not recorded."""
        known = self._by_name.get(tag.name) if tag.name else self._own
        if known is not None:
            return known
        async with self._opening:
            known = self._by_name.get(tag.name) if tag.name else self._own
            return known or await self._open_by_itself(tag)

    async def spawn(self, parent: OpenRun, name: str) -> OpenRun | None:
        """Opens a child of an open run; None when a run of that name is open."""
        async with self._opening:
            return None if name in self._by_name else await self._open_child(name, parent)

    def append(self, run: OpenRun, draft: Draft, after: Ticket | None = None) -> Ticket:
        """Appends to a run. Raises InvalidEvent when it has been closed meanwhile."""
        if run.closed:
            raise InvalidEvent("the run was closed before its traffic ended")
        self.before(run)
        run.last = self.write(run, draft, after)
        return run.last

    def write(self, run: OpenRun, draft: Draft, after: Ticket | None = None) -> Ticket:
        """The same, of which nobody is told before."""
        return self._writer.append(run.id, draft, after=after)

    def means(self, tag: Tag, run: OpenRun) -> bool:
        """Whether a tag means that run."""
        return tag.name in run.names if tag.name else run is self._own

    def piece(self, run: OpenRun, request: Ticket, part: Part, redacted: Redacted) -> Ticket:
        """Keeps a piece of an open stream of a run. Raises InvalidEvent when it has been closed meanwhile."""
        if run.closed:
            raise InvalidEvent("the run was closed before its traffic ended")
        return self._writer.piece(run.id, request, part, redacted)

    def hold(self, run: OpenRun) -> None:
        """Something goes on in the run: it is not idle."""
        run.held += 1
        run.quiet.clear()
        if run.timer is not None:
            run.timer.cancel()
            run.timer = None

    def release(self, run: OpenRun) -> None:
        """That something has ended."""
        run.held -= 1
        if run.held == 0:
            run.quiet.set()
        if run.held == 0 and run.closes_when_idle and not run.closed and self._options.idle_close_s is not None:
            run.timer = asyncio.get_running_loop().call_later(self._options.idle_close_s, self._close_idle, run)

    def find(self, run: str) -> OpenRun | None:
        """The open run of this id or name."""
        return self._by_name.get(run)

    async def close(self, run: OpenRun, reason: CloseReason, exit_code: int | None = None) -> None:
        """Ends a run and waits until that is on disk. Raises StoreUnusable."""
        self.before(run)
        self._forget(run)
        await self._writer.close_run(run.id, reason, exit_code=exit_code)

    async def close_all(self, reason: CloseReason) -> None:
        """Ends every run that is open, and waits for those that are just ending."""
        for run in {*self._by_name.values(), *((self._own,) if self._own else ())}:
            await self.close(run, reason)
        await asyncio.gather(*self._closing)

    async def _open_by_itself(self, tag: Tag) -> OpenRun:
        # What names no parent in a recorder that belongs to one run can only come from that.
        parent = self._by_name.get(tag.parent) if tag.parent else self._adopted
        run = await self._open_child(tag.name, None if parent is None or parent.closed else parent)
        if not tag.name:
            self._own = run
        return run

    async def _open_child(self, name: str, parent: OpenRun | None) -> OpenRun:
        placed = None if parent is None else await parent.last
        named = None if parent is None or placed is None else Parent(parent.id, placed.seq, placed.hash.hex())
        draft = run_draft(name, named, self._options.bases)
        run = self._open(draft, name, Redactor(self._options.secrets), closes_when_idle=True)
        if parent is not None:
            genesis = digest.genesis_prev(self._writer.origin, run.id).hex()
            self.append(parent, Draft(RunSpawn(child=run.id, genesis=genesis)))
        await self._opened(run)
        return run

    def _open(self, draft: Draft, name: str, redactor: Redactor, *, closes_when_idle: bool) -> OpenRun:
        id_, ticket = self._writer.open_run(draft)
        run = OpenRun(id_, (id_, *((name,) if name else ())), redactor, ticket, closes_when_idle)
        self._by_name.update(dict.fromkeys(run.names, run))
        return run

    async def _opened(self, run: OpenRun) -> None:
        """Waits until the run is there: a run whose opening failed must not be found by the next request."""
        try:
            await run.last
        except BaseException:
            self._forget(run)
            raise

    def _forget(self, run: OpenRun) -> None:
        run.closed = True
        if run.timer is not None:
            run.timer.cancel()
        for name in run.names:
            if self._by_name.get(name) is run:
                del self._by_name[name]
        if self._own is run:
            self._own = None

    def _close_idle(self, run: OpenRun) -> None:
        if run.held == 0 and not run.closed:
            task = asyncio.get_running_loop().create_task(self.close(run, "idle"))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


def run_draft(name: str, parent: Parent | None, bases: Iterable[Base] = ()) -> Draft:
    """Event 0 of a run of which only its name is known."""
    sheet = Sheet()
    return sheet.draft(
        RunOpen(
            origin="",
            mode="record",
            recorder=f"edgetape/{store.__version__}",
            clock="system",
            policies=Policies(redaction=RULES, classification=classify.RULES),
            agent=Agent(),
            name=sheet.text(stored(name.encode("utf-8", "surrogateescape"))) if name else None,
            parent=parent,
            bases=[str(base) for base in bases] or None,
        )
    )
