"""The course of a comparison: model requests live, everything else answered by the recorded answer to an equal request.

Rules kept here:
- Equal requests are answered in any order: another model asks for the same in another one.
- Where none is equal the branch has left the recording, and ends: no near answer, nothing live but models.
"""

from dataclasses import dataclass
from typing import ClassVar

from replay_server.match import Match, Tier
from replay_server.registry import Deed, Registry
from replay_server.remodel import remodelled
from replay_server.ventures.choice import EQUAL, Choice, Venture
from store.core.form import Asked
from store.core.model import Mode


@dataclass(slots=True)
class Comparison(Venture):
    """One branch. `model` is asked instead of the one that the agent asks for, if it is named.

    `repeats` lets an equal request that comes once more have the last answer again.
    """

    registry: Registry
    model: str = ""
    repeats: bool = False
    mode: ClassVar[Mode] = "compare"
    ends_on_miss: ClassVar[bool] = True

    def choose(self, match: Match, deed: Deed) -> Choice:
        """Decides one request."""
        if match.tier is Tier.OPTIONAL:
            return Choice("replay")
        if deed.is_model:
            ruling = self.registry.rule(deed)
            return Choice("live" if ruling.is_live else "refuse", ruling, ruling.why)
        if match.tier in EQUAL or (self.repeats and match.again):
            return Choice("replay")
        return Choice("leave")

    def dials(self, host: str, port: int) -> bool:
        """Whether a model may be asked there."""
        return self.registry.names(host, port)

    def changed(self, asked: Asked) -> Asked:
        """A request to a model, with the model that is to be asked."""
        return remodelled(asked, self.model) if self.model else asked
