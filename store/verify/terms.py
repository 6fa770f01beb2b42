"""What is asked of a verification, and what whoever asks brings with him."""

from dataclasses import dataclass

from store.core.checkpoint import SignedCheckpoint, VerifierKey


@dataclass(frozen=True, slots=True)
class Terms:
    """`pin` is the key that is trusted beforehand; `held` a checkpoint that was kept elsewhere."""

    pin: VerifierKey | None = None
    held: SignedCheckpoint | None = None


USUAL = Terms()
