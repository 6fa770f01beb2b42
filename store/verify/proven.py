"""Checks leaves that come with inclusion proofs, where the log is not there as a whole; pure.

docs/format.md, section 9. What is shown is in the log; that nothing more of these runs is in it is not shown: the
flag PARTIAL_LOG says so.
"""

from collections.abc import Sequence

from store.core import checkpoint
from store.core.checkpoint import VerifierKey
from store.core.errors import Malformed
from store.core.merkle import leaf_hash
from store.core.proof import root_of
from store.verify.ledger import Ledger, check_note, check_older, check_pins, take
from store.verify.records import Records
from store.verify.verdict import Tally


def check(records: Records, tally: Tally, pins: Sequence[VerifierKey]) -> Ledger:
    """Checks every proven leaf against the one checkpoint, and that against its signature."""
    log = Ledger(outside=records.outside())
    shown = 0
    for size, note in records.checkpoints():
        stated = _stated(note)
        log.length, log.root = size, stated or b""
        last = -1
        for proof in records.proofs():
            last = proof.index
            shown += 1
            root = root_of(leaf_hash(proof.leaf), proof.index, size, proof.hashes)
            if root is None or root != stated or proof.checkpoint != note:
                tally.find("V403", f"leaf {proof.index} is not proven to stand below the checkpoint")
            log.times[proof.index + 1] = take(log, proof.index, proof.leaf, tally)
        if not log.keys or last != size - 1:
            tally.find("V403", "the first or the last leaf below the checkpoint is missing")
        check_pins(log, pins, tally)
        if check_note(log, size, note, tally):
            log.checkpoint = (size, log.times.get(size, ""))
        check_older(log, [(size, note)], tally)
    tally.counts["PARTIAL_LOG"] = log.length - shown
    if not log.length:
        tally.find("V001", "no checkpoint signs anything of it")
    return log


def _stated(note: bytes) -> bytes | None:
    """The root of a checkpoint; one that cannot be read is a finding of check_note."""
    try:
        return checkpoint.parse(note).checkpoint.root
    except Malformed:
        return None
