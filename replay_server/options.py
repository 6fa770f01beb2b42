"""What a replay server is told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replay_server.admission import OwnsConnection
from replay_server.branch import Start
from replay_server.modes import OnDrift, OnMiss
from replay_server.opening import Opening, opening
from replay_server.order import Order
from replay_server.pause import Pause
from replay_server.plan import Plan
from replay_server.tape import Tape
from replay_server.ventures.choice import Children
from store.core.base import Base
from store.core.redact import Redactor
from store.labels.own import NO_RULES, OwnRules

if TYPE_CHECKING:
    from replay_server.upstream import Dial

GRACE_S = 10.0
HANG_S_MAX = 30.0


def _nobody(port: int) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What a live mode adds: its `plan`, and the way out.

    `roots` are PEM certificates that a server's own may lead to; `standins` what was put into the agent's environment
    in place of credentials that are not there; `own` are the operator's rules for what a request is; with
    `children` "live" child runs go on as the mode's rules allow.
    """

    plan: Plan
    dial: "Dial"
    roots: bytes
    standins: Sequence[str] = ()
    children: Children = "recorded"
    own: OwnRules = NO_RULES

    def start(self, tape: Tape) -> Start:
        """How the mode begins on a tape. Raises NotAllowed."""
        children_live = self.children == "live"
        return replace(self.plan.start(tape), kept_back=self.standins, children_live=children_live, own=self.own)


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How to replay. `secrets` are the agent's credentials; `owns_port` says which loopback ports are the agent's own.

    `token` is what clients must bring, but for those whose connection is the agent's by `owns_connection`.
    `local` is "pass" (a listener of the agent's own is tunnelled to) or "record" (it is answered from the recording).
    `grace_s` is how long the agent may go on after `stopped`; ending it is the caller's. `redactor` is the one that
    made the opening; without it there is a new one that knows `secrets`. With `live` it is one of the live modes;
    `bases` are servers that ports of ours stand for;
    with `no_wait` no answer tells the agent to wait;
    with `pause` answers are held until somebody lets them go; `unverified` serves events that do not fit together.
    """

    on_drift: OnDrift = "stop"
    on_miss: OnMiss = "fail"
    grace_s: float = GRACE_S
    order: Order = "causal"
    pace: str = "instant"
    hang_s_max: float = HANG_S_MAX
    ignore: Sequence[str] = ()
    optional: Sequence[str] = ()
    agent_rules: bool = True
    repeat_last: bool = False
    no_wait: bool = False
    use_map: bool = True
    unverified: bool = False
    local: str = "pass"
    owns_port: Callable[[int], bool] = _nobody
    token: str = ""
    owns_connection: OwnsConnection | None = None
    secrets: Sequence[str] = ()
    listen_host: str = "127.0.0.1"
    listen_port: int = 0
    bases: tuple[Base, ...] = ()
    opening: Opening = field(default=opening)
    redactor: Redactor | None = None
    live: LiveOptions | None = None
    pause: Pause | None = None
