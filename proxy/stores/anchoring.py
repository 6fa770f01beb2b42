"""Anchoring as the command line asks for it: whom to ask, and what is said of the answer."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict

from proxy.agent.upstream import upstream_proxy
from proxy.border import Misuse
from proxy.options import Shared
from store.core.errors import EdgetapeError, Malformed
from store.core.event import timestamp
from store.outside import round as rounds
from store.outside import token
from store.outside.post import DEADLINE_S, Unreachable, Way, host_of
from store.outside.round import Outcome, Plan
from store.outside.witness import Witness

RETRY_S = 60.0
END_S = 15.0
_PATIENCE_S = 5.0  # of an automatic round with each who is asked


def plan(
    authorities: Sequence[str], roots: Path | None, witnesses: Sequence[str], deadline_s: float = DEADLINE_S
) -> Plan:
    """Whom the options name, by the user's own proxies. Raises Misuse."""
    try:
        for url in authorities:
            host_of(url)
        named = tuple(map(Witness.parse, witnesses))
        trusted = () if roots is None else (token.Authority(token.certificates(roots.read_bytes())),)
    except (Malformed, Unreachable) as error:
        raise Misuse(f"whom to ask makes no sense: {error}") from error
    except OSError as error:
        raise Misuse(f"{roots} cannot be read: {error.strerror}") from error
    return Plan(tuple(authorities), trusted, named, Way(upstream_proxy(os.environ).route, deadline_s))


class Given(TypedDict):
    """The options of a verb that anchors what it records, as click gives them."""

    tsa: Sequence[str]
    tsa_ca: Path | None
    witness: Sequence[str]
    anchor_every: float


def rounds_of(shared: Shared, given: Given, say: Callable[[str, str], None]) -> "Rounds":
    """The rounds that the options ask for, which may be none. Raises Misuse."""
    wanted = plan(given["tsa"], given["tsa_ca"], given["witness"], _PATIENCE_S)
    return Rounds(shared.store, shared.keys, wanted, given["anchor_every"], say)


class Rounds:
    """Has the log anchored while it is written: at the beginning, every `every_s` seconds, and at the end.

    It writes by itself, beside the recorder, and nobody waits for it but the end, for a bounded time. Whatever fails is
    said once, and tried again after RETRY_S at the latest; nothing that is recorded depends on it.
    """

    def __init__(self, store: Path, keys: Path, plan: Plan, every_s: float, say: Callable[[str, str], None]) -> None:
        self._go = partial(rounds.go, store, keys, plan, anyway=False)
        self._every_s = every_s
        self._say = say
        self._ending = threading.Event()
        self._failing: set[str] = set()
        self._wanted = bool(plan)
        self._thread = threading.Thread(target=self._run, name="edgetape-anchors", daemon=True)

    def begin(self) -> None:
        """From here on there is a store."""
        if self._wanted:
            self._thread.start()

    def close(self) -> None:
        """One more round, over all that was written."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join(END_S)
            if self._thread.is_alive():
                self._say("the end of the log is not anchored: somebody outside did not answer in time", "")

    def join(self) -> None:
        """Waits for the thread to end, however long that takes."""
        self._thread.join()

    def _run(self) -> None:
        while True:
            last = self._ending.is_set()
            self.go()
            if last:
                return
            self._ending.wait(min(self._every_s, RETRY_S) if self._failing else self._every_s)

    def go(self) -> None:
        """One round, now."""
        try:
            failures = self._go().failures
        except EdgetapeError as error:
            failures = [error]
        except Exception as error:  # noqa: BLE001 - a thread of its own: what it meets ends here
            failures = [EdgetapeError(f"unforeseen: {type(error).__name__}: {error}")]
        for each in failures:
            if str(each) not in self._failing:
                self._say(f"the log is not anchored: {each}", each.hint)
        self._failing = {str(each) for each in failures}


def sentences(outcome: Outcome) -> Iterator[str]:
    """A line for each anchor that is kept now."""
    tokens = iter(outcome.tokens)
    for kept in outcome.kept:
        if kept.facts.kind == "rfc3161":
            stamp = next(tokens)
            exact = f" (within {stamp.accuracy.total_seconds():g} s)" if stamp.accuracy else ""
            what = f"stamped by {kept.facts.by} at {timestamp(stamp.time)}{exact}"
        else:
            what = f"cosigned by {kept.facts.by}"
        yield f"checkpoint {kept.facts.size}: {what}; leaf {kept.position}"
