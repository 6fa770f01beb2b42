"""Holds openings against commitments, and payloads against openings (docs/format.md, section 7, rule 9); pure."""

from store.core import digest
from store.core.errors import Malformed
from store.openings import OpeningRow
from store.payloads import Oversize
from store.verify.chain import Walk
from store.verify.ledger import Erasures, Ledger
from store.verify.records import Records, StoredBodies
from store.verify.verdict import Tally


def check(records: Records, found: Walk, log: Ledger, tally: Tally) -> int:
    """Checks every body of a run; how many its readable events commit to."""
    run, missing = found.run, {(seq, pointer) for seq, named in found.commitments.items() for pointer in named}
    count, before = len(missing), len(tally.findings)
    erased = log.erased.get(run, Erasures())
    strays: set[tuple[int, str]] = set()
    # Without an origin nothing that is stored can be held against its place.
    stored = records.bodies(run, log.origin) if log.origin is not None else None
    for seq, row in records.openings(run):
        named = found.commitments.get(seq, {}).get(row.pointer)
        if named is None:
            strays.add((seq, row.pointer))
            continue
        missing.discard((seq, row.pointer))
        if seq in erased:
            tally.find("V606", f"{row.pointer} is erased on record, and still there", run, seq)
        else:
            _check_opening(run, seq, row, named, stored, tally)
    unopened = records.strays(run)
    strays.update(place for place in unopened if place not in missing)
    _check_missing(run, missing, {place for place in unopened if place in missing}, erased, tally)
    promised = log.runs[run].promised if run in log.runs else 0
    for seq, pointer in sorted(strays):
        if seq not in found.unread and not found.is_gap(seq) and not found.last < seq < promised:
            tally.find("V606", f"{pointer} is kept, no event commits to it", run, seq)
    if stored is not None and not strays and len(tally.findings) == before and not stored.exact:
        tally.find("V605", "its blocks hold more than its bodies, or a body twice", run)
    return count


def _check_missing(
    run: str, missing: set[tuple[int, str]], kept: set[tuple[int, str]], erased: Erasures, tally: Tally
) -> None:
    """Commitments without an opening; `kept` are those that have a payload all the same."""
    for seq, pointer in sorted(missing):
        if seq not in erased:
            tally.find("V601", f"{pointer} has no opening", run, seq)
        elif (seq, pointer) in kept:
            tally.find("V606", f"{pointer} is erased on record, and still stored", run, seq)
        else:
            tally.counts["PAYLOADS_ERASED"] += 1


def _check_opening(run: str, seq: int, row: OpeningRow, named: str, stored: StoredBodies | None, tally: Tally) -> None:
    if not row.is_sound or digest.commitment(row.salt, row.sha256, row.length).hex() != named:
        tally.find("V602", row.pointer, run, seq)
        return
    if row.place is None:
        tally.find("V603", row.pointer, run, seq)
        return
    if stored is None:
        return
    try:
        body = stored.body(row.place, row.length)
    except Oversize as error:
        tally.find("V607", f"{row.pointer}: {error}", run, seq)
    except Malformed as error:
        tally.find("V604", f"{row.pointer}: {error}", run, seq)
    else:
        if digest.body_digest(body) != row.sha256:
            tally.find("V604", row.pointer, run, seq)
