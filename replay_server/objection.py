"""What the agent is told where the recording does not answer it; each is filed among the findings at the same time."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from replay_server.answer import Recorded
from replay_server.drift import Change
from replay_server.findings import Drifted, Findings, Missed
from replay_server.match import Tier
from replay_server.modes import Policy
from replay_server.problem import Name, problem
from replay_server.report import drift_document, missed_document
from replay_server.wording import drift_lines


@dataclass(frozen=True, slots=True)
class Objections:
    """Those of one replay. `stopped` is set by what ends it early: a drift, or with `ends_on_miss` a miss."""

    findings: Findings
    policy: Policy
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    ends_on_miss: bool = False

    def drifted(self, step: int, seq: int, place: str, found: Sequence[Change], expected: str = "") -> Drifted | None:
        """Files a drift, and ends the replay with it; None where the recording is to be served all the same."""
        cause = self.findings.drift(step, seq, place, list(found), expected)
        if self.policy.act(Tier.DRIFTED) == "serve":
            return None
        self.findings.stopped_at = step
        self._halt(told(cause))
        return cause

    def after_stop(self) -> Recorded:
        """What every request gets after the replay was stopped."""
        self.findings.after_stop += 1
        assert self.findings.halted is not None
        return self.findings.halted

    def _halt(self, last: Recorded) -> Recorded:
        self.findings.halted = self.findings.halted or last
        self.stopped.set()
        return last

    def missed(self, place: str, last: int | None, *, again: bool, detail: str = "") -> Recorded:
        """Files what was asked for more often than recorded (`again`), or never recorded: what the agent is told."""
        if last is not None and not detail:
            detail = f"the recording answered it last at step {last}"
        missed = Missed(place, self.findings.requests, last, detail)
        (self.findings.exhausted if again else self.findings.unexpected).append(missed)
        name: Name = "exhausted" if again else "unexpected"
        said = "was asked for more often than recorded" if again else "is not in the recording"
        sentence = f"{place} {said}" + (f"; {detail}" if detail else "")
        answer = problem(name, sentence, missed_document(missed))
        return self._halt(answer) if self.ends_on_miss else answer

    def unserved(self, place: str, step: int | None, reason: str) -> Recorded:
        """A recorded answer that cannot be served."""
        missed = Missed(place, self.findings.requests, step, reason)
        self.findings.unserved.append(missed)
        return problem("unserved", reason, missed_document(missed))

    def failed(self, sentence: str) -> Recorded:
        """A failure of our own."""
        self.findings.failures.append(sentence)
        return problem("failed", sentence, {})


def told(cause: Drifted) -> Recorded:
    """What the agent is told of a drift."""
    return problem("drifted", "\n".join(drift_lines(cause)), drift_document(cause))
