"""Holds the log against what was kept apart from it: a checkpoint, and what its signer remembers.

Pure; docs/format.md, section 7, rule 11.
"""

from collections.abc import Mapping

from store.core.checkpoint import SignedCheckpoint
from store.memory import Memory, stem
from store.verify.ledger import Ledger
from store.verify.verdict import Tally


def check(held: SignedCheckpoint, log: Ledger, tally: Tally) -> int | None:
    """How many leaves the held checkpoint vouches for; None where it does not fit, or is not this log's."""
    stated = held.checkpoint
    if log.origin is not None and stated.origin != log.origin:
        tally.find("V404", f"the checkpoint that you hold is of the log {stated.origin}")
        return None
    if not log.accepts(held, "the checkpoint that you hold", tally) and (
        log.keys is not None or log.origin is not None
    ):
        return None
    if stated.size > log.length:
        tally.find("V501", f"you hold a checkpoint over {stated.size} leaves, the log has {log.length}")
        return None
    root = log.root_at(stated.size)
    if root not in (None, stated.root):
        tally.find("V502", f"the first {stated.size} leaves are not those of the checkpoint that you hold")
    return stated.size if root == stated.root else None


def check_memory(signed: Mapping[str, Memory], log: Ledger, tally: Tally) -> None:
    """What the operator's own signer remembers: a checkpoint that he holds, but nobody else."""
    known = signed.get(stem(log.origin or ""))
    if known is None or not known.size:
        return
    if known.size > log.length:
        tally.find("V501", f"its signer has signed {known.size} leaves, the log has {log.length}: it was rolled back")
    elif log.root_at(known.size) not in (None, known.root):
        tally.find("V502", f"the first {known.size} leaves are not those that its signer has signed")
