"""What is asked of a verification, and what whoever asks brings with him."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from store.core.checkpoint import SignedCheckpoint, VerifierKey
from store.labels.own import NO_RULES, OwnRules
from store.memory import Memory
from store.verify.policy import NO_POLICY, Policy

type Rules = Sequence[OwnRules] | None
"""By which what events say of bodies is derived again; None where nothing is."""


@dataclass(frozen=True, slots=True)
class Terms:
    """`pin` is the key that is trusted beforehand; `held` a checkpoint that was kept elsewhere; `policy` is what is
    asked for beyond; `deep` asks for what events say of bodies to be derived again, by ours and by an operator's `own`
    rules; `signed` is what the signers on this machine remember, as it was before.
    """

    pin: VerifierKey | None = None
    held: SignedCheckpoint | None = None
    policy: Policy = NO_POLICY
    deep: bool = False
    own: tuple[OwnRules, ...] = ()
    signed: Mapping[str, Memory] = field(default_factory=dict)

    @property
    def rules(self) -> Rules:
        """Those by which is derived again; None where nothing is."""
        return (NO_RULES, *self.own) if self.deep else None

    @property
    def pins(self) -> tuple[VerifierKey, ...]:
        """The keys of which the log has to name one: the one that is given here, else those of the policy."""
        return self.policy.pins if self.pin is None else (self.pin,)


USUAL = Terms()
