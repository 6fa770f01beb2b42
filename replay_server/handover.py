"""Tool servers on stdin and stdout in a live mode: which message is passed on to a server that is then started.

Rules kept here:
- As with HTTP: the mode and its registry decide, a call of a tool is a write unless a rule says otherwise, what the
  recording has done is not done again, and a stand-in for a secret is never passed on.
- A server that starts late is first told what the agent has said to it so far, but for calls of tools: those only
  that a rule says are read, or may be repeated.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from replay_server.branch import STANDS_IN, Start
from replay_server.findings import Forked, Gone, Withheld
from replay_server.leak import carries
from replay_server.match import Tier
from replay_server.registry import Class, Deed
from replay_server.standins import StandIns
from replay_server.stdio import place
from replay_server.ventures.choice import Choice
from store.core.control.calls import Passed
from store.core.form import Asked, Endpoint
from store.core.rpc import Message

_CALL = "tools/call"


@dataclass(frozen=True, slots=True)
class On:
    """A message is passed on, after these that the agent has said before the server was started."""

    before: tuple[bytes, ...] = ()


@dataclass(slots=True)
class Handover:
    """All tool servers of one live mode."""

    start: Start
    standins: StandIns
    found: Forked
    _said: dict[str, list[tuple[bytes, Message]]] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)

    def heard(self, call: Passed, live: Message) -> On | None:
        """Takes note of a message; what goes on without being asked about: all that is between an agent and a server
        that was started, but requests.
        """
        if call.direction == "to_server" and live.method and call.server not in self._started:
            self._said.setdefault(call.server, []).append((call.message, live))
        is_asked = call.direction == "to_server" and live.is_request
        return None if is_asked or call.server not in self._started else On()

    def ask(self, call: Passed, live: Message, tier: Tier, step: int, *, done: bool) -> On | Withheld | None:
        """Whether a request is passed on: `tier` says what the recording has for it, `done` that this had a good
        outcome; None: what a replay does. `step` is that of the new run.
        """
        deed = _deed(call.server, live)
        choice = self.start.venture.choose_message(tier, deed, done=done)
        where = place(call.server, live)
        match choice.course:
            case "live":
                return self._passed(call, where, step, choice)
            case "refuse":
                return self._held(where, step, choice.why, self.start.venture.registry.allowing(deed))
        self.found.stubbed += self.start.venture.has_left and tier is Tier.SAME
        return None

    def _passed(self, call: Passed, where: str, step: int, choice: Choice) -> On | Withheld:
        assert choice.ruling is not None
        standins = {*self.standins.made, *(each.encode("utf-8", "surrogateescape") for each in self.start.kept_back)}
        if carries(Asked(Endpoint("POST", "stdio", "", 0, b"/"), body=call.message), standins):
            return self._held(where, step, STANDS_IN, "")
        before = [line for line in self._missed(call.server) if line != call.message]
        self._started.add(call.server)
        self.found.live.append(Gone(step, where, choice.ruling.effect))
        return On(tuple(before))

    def _missed(self, server: str) -> Iterator[bytes]:
        """What a server that starts now has to hear first."""
        registry = self.start.venture.registry
        for line, said in self._said.pop(server, ()):
            ruling = registry.rule(_deed(server, said))
            if said.method != _CALL or (ruling.is_live and (ruling.effect == "read" or ruling.is_repeat)):
                yield line

    def _held(self, where: str, step: int, why: str, rule: str) -> Withheld:
        held = Withheld(step, where, why, rule)
        self.found.withheld.append(held)
        return held


def _deed(server: str, live: Message) -> Deed:
    """A request as the registry looks at it: its host is the server's name."""
    effect: Class = "write" if live.method == _CALL else "read"
    return Deed(server.lower(), 0, "POST", f"/{live.method}", live.tool, effect, is_model=False)
