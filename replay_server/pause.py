"""Holds answers back before they reach the agent, until somebody who looks at them says go.

Rules kept here:
- One answer is held at a time; others wait for their turn.
- What is said of an answer is checked against it before it counts; a wrong word changes nothing.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from replay_server.answer import Recorded
from replay_server.injection import Injection
from replay_server.modes import NotAllowed

type Action = Literal["next", "continue", "stop"]

ACTIONS = ("next", "continue", "stop")


@dataclass(slots=True)
class Held:
    """An answer that waits: its step, what was asked, and the recorded answer. `has_begun`: its head has gone out;
    `is_message`: it is said on a WebSocket.
    """

    step: int
    place: str
    recorded: Recorded
    has_begun: bool = False
    is_message: bool = False


@dataclass(slots=True)
class Pause:
    """From step `until` on, or with `each` at every step, answers are held. `quit` is set when the replay is to end."""

    until: int | None = None
    each: bool = False
    held: Held | None = None
    quit: asyncio.Event = field(default_factory=asyncio.Event)
    stopped_at: int | None = None
    edited: list[int] = field(default_factory=list)
    told: Callable[[], None] = lambda: None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _decision: asyncio.Future[Injection] | None = None

    def wants(self, step: int) -> bool:
        """Whether the answer of a step is to be held."""
        return not self.quit.is_set() and (self.each or (self.until is not None and step >= self.until))

    async def hold(self, held: Held) -> Injection:
        """Waits until somebody says go, and gives what was said of the answer."""
        async with self._turn:
            if not self.wants(held.step):
                return Injection()
            self.held, self._decision = held, asyncio.get_running_loop().create_future()
            self.told()
            try:
                return await self._decision
            finally:
                self.held = self._decision = None
                self.told()

    def say(self, action: Action, injection: Injection) -> None:
        """Lets the held answer go: to the next one (`next`), for good (`continue`), or ends the replay (`stop`).

        Raises NotAllowed when nothing is held, or what was said does not fit.
        """
        held, decision = self.held, self._decision
        if held is None or decision is None or decision.done():
            raise NotAllowed("no answer is held", hint="wait until the agent asks for something")
        if injection.status is not None and held.has_begun:
            raise NotAllowed("the head of this answer has gone out already: its status cannot be changed any more")
        if held.is_message:
            injection.check_message()
        injection.apply(held.recorded)
        if injection.is_any:
            self.edited.append(held.step)
        self.until, self.each = None, action == "next"
        if action == "stop":
            self.stopped_at = held.step
            self.quit.set()
        decision.set_result(injection)
