"""Sections 5 and 7: openings and payloads against the commitments of a run's events (rule 9)."""

from hashlib import sha256

from tests.support.verifier.events import Found
from tests.support.verifier.hashes import commitment
from tests.support.verifier.log import Log as StoreLog
from tests.support.verifier.outcome import Outcome
from tests.support.verifier.pieces import Log, UnreadableError
from tests.support.verifier.rows import Opening, Rows


def _opens(opening: Opening, committed: str) -> bool:
    if opening.damaged or len(opening.salt) != 32 or len(opening.digest) != 32 or opening.length < 0:
        return False
    return commitment(opening.salt, opening.digest, opening.length) == committed


def _fault(place: int, opening: Opening, log: Log | None) -> str | None:
    """Name the first thing that is wrong with a stored body."""
    try:
        if log is None:
            return "V604"
        length = log.piece(place).length
        if length > opening.length:
            return "V607"
        sound = length == opening.length and sha256(log.body(place)).digest() == opening.digest
    except UnreadableError:
        return "V604"
    return None if sound else "V604"


def _is_exact(log: Log | None, places: list[int]) -> bool:
    """Say whether the log is these pieces, one behind the other, and nothing more."""
    if log is None:
        return False
    end = 0
    for place in sorted(places):
        if place != end:
            return False
        end = log.piece(place).end
    return end == log.end


def check_bodies(found: Found, rows: Rows, store_log: StoreLog, outcome: Outcome) -> None:
    """Verify every body of one run, and find what belongs to none."""
    run, origin = found.run, store_log.origin
    openings, payloads = rows.openings(run), rows.payloads(run)
    log = Log.of(rows.blocks(run), origin, run) if origin is not None else None
    places = {(seq, pointer): c for seq, here in found.commitments.items() for pointer, c in here.items()}
    faults = 0
    for where, committed in places.items():
        outcome.count("bodies")
        opening, place = openings.get(where), payloads.get(where)
        fault: str | None
        if store_log.is_erased(run, where[0]):
            fault = "V606" if opening is not None or place is not None else None
        elif opening is None:
            fault = "V601"
        elif not _opens(opening, committed):
            fault = "V602"
        elif place is None:
            fault = "V603"
        else:
            fault = _fault(place, opening, log) if origin is not None else None
        if fault is not None:
            faults += 1
            outcome.report(fault, run, where[0])
    for seq, _ in rows.doubled(run) & places.keys():
        faults += 1
        outcome.report("V204", run, seq)
    strays = {*openings, *payloads} - places.keys()
    for seq, _ in sorted(strays):
        if seq not in found.unreadable and not found.is_missing(seq):
            outcome.report("V606", run, seq)
    if origin is not None and not faults and not strays and not _is_exact(log, list(payloads.values())):
        outcome.report("V605", run)
