"""Holds the log against a checkpoint that was kept out of its operator's reach.

Pure; docs/format.md, section 7, rule 11.
"""

from store.core.checkpoint import SignedCheckpoint
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
