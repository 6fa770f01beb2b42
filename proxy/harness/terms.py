"""What a harness is told when it starts, for all sessions of its own."""

from dataclasses import dataclass
from pathlib import Path

from proxy.settings import Durability


@dataclass(frozen=True, slots=True)
class Terms:
    """`by` is who is named in the log as the one who takes tapes out of the store."""

    by: str
    durability: Durability = "group"
    upstream_ca: Path | None = None
