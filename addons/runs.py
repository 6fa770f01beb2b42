"""The runs that are open in this recorder: found by name, opened when asked for, closed when nothing uses them.

Rules kept here:
- The name of a closed run opens a new run of that name.
- A run that the recorder opened by itself is closed when it has been idle; one that was opened for it lives until told.
- A child names the newest event of its parent, and the parent gets a `run.spawn`.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import store
from addons.options import RecorderOptions
from store.core import digest
from store.core.base import Base
from store.core.control.calls import Spawned
from store.core.draft import Draft, Sheet
from store.core.errors import InvalidEvent
from store.core.model import Agent, CloseReason, Parent, Policies, RunOpen, RunSpawn
from store.core.redact import RULES, Redactor, stored
from store.drafting.scribe import Part, Scribe
from store.drafting.seen import Piece, Sight
from store.labels.own import NO_RULES
from store.ticket import Ticket

type Heard = Callable[[str, Mapping[str, str | int]], None]
"""Is told what happened, and about what: never anything that an agent or a server said."""

type Labels = Sequence[tuple[str, str]]

type Key = tuple[str, str, str]
"""Tenant, name, and what sets an unnamed run apart from others."""


@dataclass(frozen=True, slots=True)
class Tag:
    """What a request says of the run that it belongs to; without a name it is one that others share.

    `tenant` is whose token came with it; `apart` keeps unnamed runs apart; `workflow` is that of a run that it opens.
    """

    name: str = ""
    parent: str = ""
    tenant: str = ""
    apart: str = ""
    workflow: str = ""

    @property
    def key(self) -> Key:
        """By which its run is found: no tenant finds another's."""
        return self.tenant, self.name, "" if self.name else self.apart


@dataclass(slots=True, eq=False)
class OpenRun:
    """A run that may still be written to. `held` counts what is going on in it."""

    id: str
    keys: tuple[Key, ...]
    last: Ticket
    closes_when_idle: bool
    held: int = 0
    closed: bool = False
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)
    quiet: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def __post_init__(self) -> None:
        self.quiet.set()

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return self.keys[0][0]

    async def until_quiet(self, seconds_max: float) -> bool:
        """Waits until nothing goes on in it; False when time ran out first."""
        try:
            async with asyncio.timeout(seconds_max):
                await self.quiet.wait()
        except TimeoutError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class About:
    """What is said of a run that the recorder opens by itself."""

    tenant: str = ""
    workflow: str = ""
    labels: Labels = ()
    bases: Sequence[Base] = ()
    rules: str = NO_RULES.version


class Runs:
    """All open runs of one recorder. `before` is told of a run that something is about to be written into."""

    def __init__(self, scribe: Scribe, options: RecorderOptions) -> None:
        self._scribe = scribe
        self._options = options
        self._by_key: dict[Key, OpenRun] = {}
        self._adopted: OpenRun | None = None
        self._opening = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self.before: Callable[[OpenRun], None] = lambda _: None
        self.heard: Heard = lambda what, about: None

    @property
    def open(self) -> set[OpenRun]:
        """Those that may still be written to."""
        return set(self._by_key.values())

    def tell(self, options: RecorderOptions) -> None:
        """Other times, labels and secrets from now on."""
        self._options = options

    def adopt(self, draft: Draft, name: str, redactor: Redactor) -> OpenRun:
        """Opens a run that takes all traffic which names no other, until it is closed by `close`."""
        self._adopted = self._open(draft, Tag(name), redactor, closes_when_idle=False)
        self._by_key[Tag().key] = self._adopted
        self._adopted.keys += (Tag().key,)
        return self._adopted

    def told(self, words: str) -> str:
        """Words of ours, such as an error's, without the secrets that the environment holds or that look like some."""
        return Redactor(self._options.secrets).plain(words).content.decode("utf-8", "replace")

    async def of(self, tag: Tag) -> OpenRun:
        """The open run that a tag means, opened if need be. Raises StoreUnusable when its parent was not recorded."""
        known = self._by_key.get(tag.key)
        if known is not None:
            return known
        async with self._opening:
            return self._by_key.get(tag.key) or await self._open_by_itself(tag)

    async def spawn(self, parent: OpenRun, wanted: Spawned) -> OpenRun | None:
        """Opens a child of an open run; None when a run of that name is open."""
        async with self._opening:
            tag = Tag(wanted.name, tenant=parent.tenant, workflow=wanted.workflow)
            if wanted.name and tag.key in self._by_key:
                return None
            return await self._open_child(tag, parent, by_id=True, labels=wanted.labels)

    def append(self, run: OpenRun, said: Draft | Sight, after: Ticket | None = None) -> Ticket:
        """Appends to a run. Raises InvalidEvent when it has been closed meanwhile."""
        if run.closed:
            raise InvalidEvent("the run was closed before its traffic ended")
        self.before(run)
        run.last = self.write(run, said, after)
        return run.last

    def write(self, run: OpenRun, said: Draft | Sight, after: Ticket | None = None) -> Ticket:
        """The same, of which nobody is told before."""
        return self._scribe.append(run.id, said, after=after)

    @property
    def is_behind(self) -> bool:
        """Whether more waits to be written than may be lost, or kept in memory."""
        return self._scribe.is_behind

    def means(self, tag: Tag, run: OpenRun) -> bool:
        """Whether a tag means that run."""
        return tag.key in run.keys

    def piece(self, run: OpenRun, request: Ticket, part: Part, piece: Piece) -> Ticket:
        """Keeps a piece of an open stream of a run. Raises InvalidEvent when it has been closed meanwhile."""
        if run.closed:
            raise InvalidEvent("the run was closed before its traffic ended")
        return self._scribe.piece(run.id, request, part, piece)

    def forget(self, ticket: Ticket) -> None:
        """Nothing more will belong to what that is the ticket of."""
        self._scribe.forget(ticket)

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
        """The open run of this id or name, of whoever has the recorder."""
        return self._by_key.get(Tag(run).key)

    async def close(self, run: OpenRun, reason: CloseReason, exit_code: int | None = None) -> None:
        """Ends a run and waits until that is on disk. Raises StoreUnusable."""
        self.before(run)
        self._forget(run)
        await self._scribe.close_run(run.id, reason, exit_code=exit_code)
        self.heard("run.closed", {"run": run.id, "reason": reason})

    async def close_all(self, reason: CloseReason) -> None:
        """Ends every run that is open, and waits for those that are just ending."""
        for run in self.open:
            await self.close(run, reason)
        await asyncio.gather(*self._closing)

    async def _open_by_itself(self, tag: Tag) -> OpenRun:
        # What names no parent in a recorder that belongs to one run can only come from that.
        parent = self._by_key.get(Tag(tag.parent, tenant=tag.tenant).key) if tag.parent else self._adopted
        return await self._open_child(tag, None if parent is None or parent.closed else parent)

    async def _open_child(
        self, tag: Tag, parent: OpenRun | None, *, by_id: bool = False, labels: Labels = ()
    ) -> OpenRun:
        placed = None if parent is None else await parent.last
        named = None if parent is None or placed is None else Parent(parent.id, placed.seq, placed.hash.hex())
        redactor = Redactor(self._options.secrets)
        draft = run_draft(tag.name, named, self._about(tag, labels), redactor)
        run = self._open(draft, tag, redactor, closes_when_idle=True, by_id=by_id)
        if parent is not None:
            genesis = digest.genesis_prev(self._scribe.origin, run.id).hex()
            self.append(parent, Draft(RunSpawn(child=run.id, genesis=genesis)))
        await self._opened(run)
        return run

    def _about(self, tag: Tag, labels: Labels) -> About:
        options, told = self._options, {key for key, _ in labels}
        workflow = tag.workflow or options.workflow or ""
        others = (pair for pair in options.labels if pair[0] not in told)
        return About(tag.tenant, workflow, (*labels, *others), options.bases, options.own_rules.version)

    def _open(
        self, draft: Draft, tag: Tag, redactor: Redactor, *, closes_when_idle: bool, by_id: bool = False
    ) -> OpenRun:
        """`by_id`: without a name it goes by its id alone."""
        id_, ticket = self._scribe.open_run(draft, redactor, self._options.own_rules)
        keys = (Tag(id_, tenant=tag.tenant).key, *(() if by_id and not tag.name else (tag.key,)))
        run = OpenRun(id_, keys, ticket, closes_when_idle)
        self._by_key.update(dict.fromkeys(keys, run))
        self.heard("run.opened", {"run": id_, "name": self.told(tag.name), "tenant": tag.tenant})
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
        for key in run.keys:
            if self._by_key.get(key) is run:
                del self._by_key[key]

    def _close_idle(self, run: OpenRun) -> None:
        if run.held == 0 and not run.closed:
            task = asyncio.get_running_loop().create_task(self.close(run, "idle"))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


def run_draft(name: str, parent: Parent | None, about: About | None = None, redactor: Redactor | None = None) -> Draft:
    """Event 0 of a run whose agent is not known."""
    sheet, about, redactor = Sheet(), about or About(), redactor or Redactor()
    return sheet.draft(
        RunOpen(
            origin="",
            mode="record",
            recorder=f"edgetape/{store.__version__}",
            clock="system",
            policies=Policies(redaction=RULES, classification=about.rules),
            agent=Agent(),
            name=sheet.text(stored(name.encode("utf-8", "surrogateescape"))) if name else None,
            principal=about.tenant or None,
            workflow=sheet.text(redactor.plain(about.workflow)) if about.workflow else None,
            labels=[[sheet.text(redactor.plain(word)) for word in label] for label in about.labels] or None,
            parent=parent,
            bases=[str(base) for base in about.bases] or None,
        )
    )
