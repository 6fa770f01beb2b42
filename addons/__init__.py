"""The recorder as a list of add-ons: this order is the program.

Each add-on sees every hook of mitmproxy that it has a method for, in the order of the list.
"""

from dataclasses import dataclass
from typing import Protocol

import addons.bare  # first: it decides what of mitmproxy is loaded by the others  # noqa: F401
from addons.bounds import Bounds
from addons.capture import Capture
from addons.chain import Chain
from addons.control import Control
from addons.distrust import Distrust
from addons.guard import Guard
from addons.keeping import Keeping
from addons.listeners import Listeners
from addons.options import RecorderOptions
from addons.reverse import Reverse
from addons.run_tag import RunTag
from addons.tunnel import Tunnel
from addons.unknown import Unknown
from addons.websocket import WebSocket


class Told(Protocol):
    """What can go on with other options."""

    def tell(self, options: RecorderOptions) -> None:
        """Other options from now on."""


@dataclass(frozen=True, slots=True)
class Program:
    """The add-ons of one recorder."""

    reverse: Reverse
    guard: Guard
    bounds: Bounds
    distrust: Distrust
    run_tag: RunTag
    unknown: Unknown
    control: Control
    tunnel: Tunnel
    capture: Capture
    websocket: WebSocket
    chain: Chain

    @property
    def ordered(self) -> list[object]:
        """What happens to a request, in this order."""
        return [
            self.reverse,  # which server does a port stand for?
            self.guard,  # may it speak through us?
            self.bounds,  # may it be reached?
            self.distrust,  # does it take us for whom it asked for? Before `run_tag` forgets who left
            self.run_tag,  # which run does it belong to? What it says of that goes no further
            self.unknown,  # may it go without saying so?
            self.control,  # is it for the recorder itself?
            self.tunnel,  # does it pass unopened?
            self.capture,  # it is recorded before it leaves, and its outcome before the agent has it
            self.websocket,  # so is what follows an upgrade
            self.chain,  # by which way does it leave?
        ]

    @property
    def told(self) -> list[Told]:
        """Those that can go on with other options."""
        return [self.guard, self.bounds, self.run_tag, self.unknown, self.tunnel]


def program(keeping: Keeping, options: RecorderOptions, listeners: Listeners) -> Program:
    """The add-ons for these options; `listeners` says where the recorder listens, once it does."""
    run_tag = RunTag(options, listeners)
    distrust = Distrust(keeping.counts, run_tag, tunnels=options.on_distrust == "tunnel")
    chain = Chain(keeping, options.route)
    return Program(
        reverse=Reverse(keeping, listeners),
        guard=Guard(keeping, options, listeners),
        bounds=Bounds(keeping, options, listeners, chain.goes_by),
        distrust=distrust,
        run_tag=run_tag,
        unknown=Unknown(keeping, options),
        control=Control(keeping, listeners),
        tunnel=Tunnel(keeping, run_tag, options, distrust),
        capture=Capture(keeping, options),
        websocket=WebSocket(keeping),
        chain=chain,
    )
