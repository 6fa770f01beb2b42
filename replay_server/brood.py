"""The child runs of a live mode's run: one for each that requests name, opened under it when it first asks."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from replay_server.ledger import Ledger
from store.core.baggage import run_named
from store.core.draft import Draft
from store.core.form import Pairs, first
from store.core.model import CloseReason, Parent

type Birth = Callable[[Draft], Ledger]

_PARENT = b"x-edgetape-parent-run"


@dataclass(slots=True)
class Brood:
    """Of one run, whose ledger is `own`. `open` begins a run; `draft` makes its event 0 of its parent and its tag."""

    own: Ledger
    open: Birth
    draft: Callable[[Parent, str], Draft]
    _known: dict[str, Ledger] = field(default_factory=dict)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def meet(self, headers: Pairs) -> Ledger:
        """The ledger of the run that a request belongs to; a child run is opened. Raises StoreUnusable."""
        tag, above = run_named(headers), self.of(_said(headers, _PARENT))
        if not self._is_known(tag):
            async with self._opening:
                if not self._is_known(tag):
                    made = self.open(self.draft(await above.newest(), tag))
                    above.spawn(made.run)
                    self._known[tag] = made
        return self.of(tag)

    def of(self, tag: str) -> Ledger:
        """The ledger of the run that a tag means; that of the run itself for none."""
        return self._known.get(tag, self.own)

    @property
    def runs(self) -> dict[str, str]:
        """The ids of the child runs by their tags."""
        return {tag: ledger.run for tag, ledger in self._known.items()}

    async def close(self, reason: CloseReason) -> None:
        """Ends the child runs, the newest first: a child of a child before its parent. Raises StoreUnusable."""
        for ledger in reversed(self._known.values()):
            await ledger.end(reason)

    def _is_known(self, tag: str) -> bool:
        return tag in ("", self.own.run) or tag in self._known


def _said(headers: Pairs, name: bytes) -> str:
    return first(headers, name).decode("utf-8", "surrogateescape").strip()
