"""Anchors in a store that is made for a test, without anybody outside being asked over the network."""

from pathlib import Path

from store.core.leaf import AnchorKind
from store.outside import keeping
from store.outside.keeping import Given, Kept
from tests.support.time_authority import TimeAuthority
from tests.support.witness import Witness


def stamp(folder: Path, keys: Path, authority: TimeAuthority, by: str = "tsa.example") -> Kept:
    """Has an authority stamp the newest checkpoint."""
    stated, note = keeping.newest(folder, keys)
    return keep(folder, keys, "rfc3161", stated.size, by, authority.stamp(note))


def cosign(folder: Path, keys: Path, witness: Witness) -> Kept:
    """Has a witness cosign the newest checkpoint."""
    stated, _ = keeping.newest(folder, keys)
    return keep(folder, keys, "cosignature", stated.size, witness.name, witness.cosign(stated.text))


def keep(folder: Path, keys: Path, kind: AnchorKind, size: int, by: str, content: bytes) -> Kept:
    """Keeps anything as an anchor."""
    (kept,) = keeping.keep(folder, keys, [Given(kind, size, by, content)])
    return kept
