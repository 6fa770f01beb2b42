"""Sections 5 and 7: openings and payloads against the commitments of a run's events (rule 9)."""

from hashlib import sha256

from tests.support.verifier.events import Found
from tests.support.verifier.frames import Frame
from tests.support.verifier.hashes import commitment
from tests.support.verifier.outcome import Outcome
from tests.support.verifier.rows import Opening, Payload, Rows

CODEC = "sha256/zstd"


def _opens(opening: Opening, committed: str) -> bool:
    if len(opening.salt) != 32 or len(opening.digest) != 32 or opening.length < 0:
        return False
    return commitment(opening.salt, opening.digest, opening.length) == committed


def _fault(payload: Payload, opening: Opening) -> str | None:
    """Name the first thing that is wrong with a payload."""
    check, packed = payload.stored[:16], payload.stored[16:]
    frame = Frame.read(packed)
    if payload.codec != CODEC or frame is None:
        return "V604"
    if frame.declared is not None and frame.declared > opening.length:
        return "V607"
    if frame.declared != opening.length:
        return "V604"
    end = frame.end()
    digest = frame.content_digest()
    if end is None or digest is None:
        return "V604"
    if end < len(packed):
        return "V605"
    return None if digest == opening.digest and sha256(packed).digest()[:16] == check else "V604"


def _body_fault(opening: Opening | None, payload: Payload | None, committed: str) -> str | None:
    if opening is None:
        return "V601"
    if not _opens(opening, committed):
        return "V602"
    return "V603" if payload is None else _fault(payload, opening)


def check_bodies(found: Found, rows: Rows, outcome: Outcome) -> None:
    """Verify every body of one run, and find what belongs to none."""
    run = found.run
    openings = rows.openings(run)
    places = {(seq, pointer): c for seq, here in found.commitments.items() for pointer, c in here.items()}
    for place, committed in places.items():
        outcome.count("bodies")
        fault = _body_fault(openings.get(place), rows.payload(run, place), committed)
        if fault is not None:
            outcome.report(fault, run, place[0])
    for seq, _ in sorted({*openings, *rows.payload_places(run)} - places.keys()):
        if seq not in found.unreadable and not found.is_missing(seq):
            outcome.report("V606", run, seq)
