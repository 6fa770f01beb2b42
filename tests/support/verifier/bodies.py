"""Sections 5 and 7: openings and payloads against the commitments of a run's events (rule 9)."""

from hashlib import sha256

from tests.support.verifier.events import Found
from tests.support.verifier.hashes import commitment
from tests.support.verifier.log import Log as StoreLog
from tests.support.verifier.opener import Opener, RunKeys, ShutError
from tests.support.verifier.outcome import Outcome
from tests.support.verifier.pieces import Log, UnreadableError
from tests.support.verifier.rows import Opening, Place, Rows


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


def _missing(opening: Opening | None, place: int | None, committed: str, keys: RunKeys | None) -> str | None:
    """Name what is missing of a body; nothing but the keys, if none."""
    if opening is None:
        return "V601"
    if opening.damaged or (keys is not None and not _opens(opening, committed)):
        return "V602"
    return "V603" if place is None else None


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


def _keys(
    found: Found, rows: Rows, store_log: StoreLog, opener: Opener, outcome: Outcome
) -> tuple[RunKeys | None, bool]:
    """Open the keys of a run, if that can be done, and say whether there is a fault in what is there of them."""
    wrapped = rows.keys(found.run)
    try:
        keys, damaged = opener.run(found.run, wrapped), False
    except ShutError:
        keys, damaged = None, True
    gone = store_log.is_all_erased(found.run) or not found.rows
    if wrapped if gone else damaged:
        outcome.report("V606" if gone else "V604", found.run)
        return keys, True
    return keys, False


def _lent(loan: tuple[str, Place], rows: Rows, opener: Opener) -> tuple[int | None, Log | None]:
    """Find the body that another run keeps: its place there, and the log of that run."""
    lender, where = loan
    try:
        keys = opener.run(lender, rows.keys(lender))
    except ShutError:
        keys = None
    return rows.payloads(lender).get(where), Log.of(rows.blocks(lender), keys)


def check_bodies(found: Found, rows: Rows, store_log: StoreLog, opener: Opener, outcome: Outcome) -> None:
    """Verify every body of one run, and find what belongs to none."""
    run = found.run
    openings, payloads, loans = rows.openings(run), rows.payloads(run), rows.loans(run)
    keys, faulty = _keys(found, rows, store_log, opener, outcome)
    log = Log.of(rows.blocks(run), keys)
    places = {(seq, pointer): c for seq, here in found.commitments.items() for pointer, c in here.items()}
    shut = 0
    for where, committed in places.items():
        outcome.count("bodies")
        opening, place, kept_in = openings.get(where), payloads.get(where), log
        if place is None and where in loans:
            place, kept_in = _lent(loans[where], rows, opener)
        if opening is not None and keys is not None:
            opening = keys.shown(*where, opening)
        fault: str | None
        if store_log.is_erased(run, where[0]):
            fault = "V606" if opening is not None or where in payloads or where in loans else None
        elif opening is None or place is None or keys is None:
            fault = _missing(opening, place, committed, keys)
            shut += fault is None
        else:
            fault = _fault(place, opening, kept_in) if _opens(opening, committed) else "V602"
        if fault is not None:
            faulty = True
            outcome.report(fault, run, where[0])
    for seq, _ in (rows.doubled(run) | (openings.keys() & payloads.keys() & loans.keys())) & places.keys():
        faulty = True
        outcome.report("V204", run, seq)
    strays = {*openings, *payloads, *loans} - places.keys()
    for seq, _ in sorted(strays):
        if seq not in found.unreadable and not found.is_missing(seq):
            outcome.report("V606", run, seq)
    outcome.count("PAYLOADS_LOCKED", shut)
    if not shut and not faulty and not strays and not _is_exact(log, list(payloads.values())):
        outcome.report("V605", run)
