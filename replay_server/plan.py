"""What a live mode is asked to do, and how it begins on a tape."""

from dataclasses import dataclass, field
from typing import ClassVar

from replay_server.answer import Recorded
from replay_server.branch import BLANK, Start
from replay_server.injection import Injection
from replay_server.modes import NotAllowed
from replay_server.registry import Registry
from replay_server.sockets.handshake import is_socket
from replay_server.sockets.spot import Spot, spot
from replay_server.tape import Refusal, Tape
from replay_server.ventures.comparison import Comparison
from replay_server.ventures.fork import Fork
from replay_server.ventures.misses import Misses
from replay_server.ventures.sandbox import Fakes, Sandbox
from store.core.model import Mode


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """A fork: its step, what is said there, and what may go live after it. `registry` holds the model servers, too;
    `message` is the one that is another, counted from 1, where the step opened a WebSocket.
    """

    step: int
    registry: Registry
    injection: Injection = field(default_factory=Injection)
    is_step_live: bool = False
    message: int | None = None
    mode: ClassVar[Mode] = Fork.mode

    def start(self, tape: Tape) -> Start:
        """The fork, and the answer at its step. Raises NotAllowed."""
        at = tape.at(self.step)
        if at is None:
            raise NotAllowed(f"step {self.step} is no exchange of this run", hint=f"edgetape show {tape.run.id}")
        outcome = tape.outcome(at)
        there = self._spot(tape, at, outcome)
        if there is not None:
            answer = there.answer
        else:
            whole = outcome if isinstance(outcome, Recorded) and not is_socket(outcome) else BLANK
            answer = self.injection.apply(whole)
        fork = Fork(at, self.registry, self.injection, tape.is_done, self.is_step_live, in_socket=there is not None)
        said = self.injection.words() or "asked anew"
        said = f"message {self.message}: {said}" if there is not None else said
        return Start(fork, tape.exchanges[at].request.seq, answer, tape.step(at), said, there)

    def _spot(self, tape: Tape, at: int, outcome: Recorded | str | Refusal) -> Spot | None:
        """Where on a WebSocket the fork is; None where its step is answered over HTTP. Raises NotAllowed."""
        if not isinstance(outcome, Recorded) or not is_socket(outcome):
            if self.message is not None:
                raise NotAllowed(f"step {self.step} is no WebSocket, and has no messages", hint="leave out --message")
            return None
        if self.is_step_live:
            raise NotAllowed(f"step {self.step} is a WebSocket, which real servers are not asked for", hint="say --set")
        if self.message is None and self.injection.refuses:
            return None
        return spot(tape, at, self.message, self.injection)


@dataclass(frozen=True, slots=True)
class ComparePlan:
    """A branch of a comparison: the model that is asked instead of the agent's own, if any, and the models' servers."""

    registry: Registry
    model: str = ""
    repeats: bool = False
    mode: ClassVar[Mode] = Comparison.mode

    def start(self, tape: Tape) -> Start:
        """The branch."""
        venture = Comparison(self.registry, self.model, self.repeats)
        return Start(venture, tape.run.events - 1, said=self.model and f"model {self.model}")


@dataclass(frozen=True, slots=True)
class SandboxPlan:
    """A sandbox: who plays whom, and the models' servers where these are to be asked."""

    fakes: Fakes
    registry: Registry = field(default_factory=Registry)
    repeats: bool = False
    mode: ClassVar[Mode] = Sandbox.mode

    def start(self, tape: Tape) -> Start:
        """The sandbox."""
        return Start(Sandbox(self.registry, self.fakes, self.repeats), tape.run.events - 1)


@dataclass(frozen=True, slots=True)
class MissPlan:
    """A replay whose misses go live."""

    registry: Registry
    repeats: bool = False
    mode: ClassVar[Mode] = Misses.mode

    def start(self, tape: Tape) -> Start:
        """The replay."""
        return Start(Misses(self.registry, tape.is_done, self.repeats), tape.run.events - 1)


type Plan = ForkPlan | ComparePlan | SandboxPlan | MissPlan
