"""Holds what those outside gave against the log, and judges what it proves about runs; pure.

docs/format.md, section 7, rule 12.

Rules kept here:
- What can be judged without trusting anybody (it is there, it is what its leaf says, it is of that checkpoint) is
  judged always; who signed it, only by the verifier's own policy.
- A time is a bound only where hashes make it one: what a stamped checkpoint covers is older than the stamp, and what
  commits to a log that holds the stamp's digest is younger.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from store.core import checkpoint, cosignature
from store.core.errors import EdgetapeError, Malformed
from store.core.leaf import Anchored, AnchorKind
from store.outside import token
from store.verify.ledger import Ledger
from store.verify.policy import Policy
from store.verify.records import Extent
from store.verify.verdict import Tally

CODES: Mapping[AnchorKind, str] = {"rfc3161": "V520", "cosignature": "V511"}


@dataclass(frozen=True, slots=True)
class Stamped:
    """A time stamp of a trusted authority: its leaf's position, how many leaves it covers, and its time, both ways."""

    position: int
    size: int
    earliest: datetime
    latest: datetime


@dataclass(slots=True)
class Attested:
    """What trusted people outside vouch for: the stamps, and by witness the largest size that it cosigned."""

    stamps: list[Stamped] = field(default_factory=list)
    cosigned: dict[str, int] = field(default_factory=dict)
    untrusted: list[str] = field(default_factory=list)

    def witnessed(self, quorum: int) -> int | None:
        """How many leaves at least `quorum` witnesses vouch for; each saw a log that this one only adds to."""
        sizes = sorted(self.cosigned.values(), reverse=True)
        return sizes[quorum - 1] if 0 < quorum <= len(sizes) else None


def check(extent: Extent, log: Ledger, policy: Policy, tally: Tally) -> Attested:
    """Checks every anchor. Which ones a bundle is to have is checked where its members are."""
    attested = Attested()
    _check_strays(log, tally)
    for position, facts in sorted(log.anchors.items()):
        content = log.outside.given.get(position)
        if content is None and extent.runs is not None:
            continue
        try:
            _check_one(position, facts, _whole(facts, content), log, policy, attested)
        except Malformed as error:
            tally.find(CODES[facts.kind], f"anchor {position}: {error}")
    return attested


def _check_strays(log: Ledger, tally: Tally) -> None:
    """A log that lacks leaves does not tell what belongs to it."""
    if log.tree.size < log.length and not log.root:
        return
    for position in sorted(log.outside.given.keys() - log.anchors.keys() - log.unread):
        tally.find("V520", f"something is kept as the anchor {position}, no leaf names it")


def _whole(facts: Anchored, content: bytes | None) -> bytes:
    if content is None:
        raise Malformed("what the log names is missing")
    if hashlib.sha256(content).hexdigest() != facts.sha256:
        raise Malformed("it is not what the log names")
    return content


def _check_one(position: int, facts: Anchored, content: bytes, log: Ledger, policy: Policy, attested: Attested) -> None:
    note = log.notes.get(facts.size)
    if note is None:
        raise Malformed(f"the checkpoint {facts.size} that it is of is missing")
    if facts.size not in log.sound:
        return  # which is found where checkpoints are checked
    if not log.confirms(facts.size, checkpoint.parse(note).checkpoint.root):
        if log.root:
            raise Malformed(f"nothing shows that the log adds to the checkpoint {facts.size}")
        return  # leaves are missing, which is found where leaves are checked
    if facts.kind == "rfc3161":
        _check_stamp(position, facts, content, note, policy, attested)
    else:
        _check_cosignature(facts, content, note, policy, attested)


def _check_stamp(
    position: int, facts: Anchored, content: bytes, note: bytes, policy: Policy, attested: Attested
) -> None:
    try:
        stamp = token.read(content)
    except token.Refused as error:
        raise Malformed(str(error)) from None
    if not stamp.is_of(note):
        raise Malformed(f"it is for other data than checkpoint {facts.size}")
    try:
        stamp.demand(policy.authorities)
    except EdgetapeError as error:
        attested.untrusted.append(f"that of {facts.by} is not trusted: {error}")
    else:
        attested.stamps.append(Stamped(position, facts.size, stamp.earliest, stamp.latest))


def _check_cosignature(facts: Anchored, content: bytes, note: bytes, policy: Policy, attested: Attested) -> None:
    lines = cosignature.parse(content)
    stated = checkpoint.parse(note).checkpoint
    for witness in policy.witnesses:
        own = witness.own(lines)
        if any(witness.time_of(line, stated) is None for line in own):
            raise Malformed(f"the cosignature of {witness.label} does not verify")
        if own:
            attested.cosigned[witness.label] = max(facts.size, attested.cosigned.get(witness.label, 0))
