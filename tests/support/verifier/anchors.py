"""Sections 6 and 7: what those outside gave, as far as it is judged without trusting anybody (rule 12)."""

from hashlib import sha256, sha384, sha512

from tests.support.verifier.log import Log
from tests.support.verifier.notes import Checkpoint, is_name, unbase64
from tests.support.verifier.outcome import Outcome
from tests.support.verifier.rows import Rows

CODES = {"rfc3161": "V520", "cosignature": "V511"}
HASHES = {
    bytes.fromhex("608648016503040201"): sha256,
    bytes.fromhex("608648016503040202"): sha384,
    bytes.fromhex("608648016503040203"): sha512,
}
LONGEST = 65_536
LONGEST_LINES = 16_384


def _parts(data: bytes) -> list[bytes]:
    """Split DER into the contents of its elements; ValueError where it is none."""
    found, at = [], 0
    while at < len(data):
        length, at = data[at + 1], at + 2
        if length > 127:
            count = length & 127
            length, at = int.from_bytes(data[at : at + count]), at + count
        if at + length > len(data):
            raise ValueError("it ends too soon")
        found.append(data[at : at + length])
        at += length
    return found


def _is_stamp_of(data: bytes, note: bytes) -> bool:
    """Say whether a TimeStampResp (RFC 3161) is granted and over this note."""
    try:
        (response,) = _parts(data)
        status, token = _parts(response)
        _, wrapped = _parts(token)
        _, _, content, *_ = _parts(_parts(wrapped)[0])
        _, info = _parts(content)
        _, _, imprint, *_ = _parts(_parts(_parts(info)[0])[0])
        algorithm, digest = _parts(imprint)
        granted = _parts(status)[0] == b"\0"
        made = HASHES[_parts(algorithm)[0]](note).digest()
    except (ValueError, IndexError, KeyError):
        return False
    return granted and digest == made and len(data) <= LONGEST


def _are_lines(data: bytes) -> bool:
    """Say whether these are signature lines of a note."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    if not text.endswith("\n") or len(data) > LONGEST_LINES:
        return False
    for line in text[:-1].split("\n"):
        name, _, encoded = line.removeprefix("\u2014 ").partition(" ")
        signature = unbase64(encoded)
        if not line.startswith("\u2014 ") or not is_name(name) or signature is None or len(signature) < 5:
            return False
    return True


def check_anchors(rows: Rows, log: Log, outcome: Outcome) -> None:
    """Hold every anchor against its leaf and its checkpoint."""
    kept, notes = rows.anchors(), rows.checkpoints()
    leaves = {position: leaf for position, leaf in log.records.items() if leaf["type"] == "anchor"}
    if len(log.tree) == log.length:
        for _ in kept.keys() - leaves.keys() - log.unread:
            outcome.report("V520")
    for position, leaf in leaves.items():
        kind, size = str(leaf["kind"]), leaf["size"]
        assert isinstance(size, int)
        content, note = kept.get(position), notes.get(size)
        if content is None or sha256(content).hexdigest() != leaf["sha256"] or note is None:
            outcome.report(CODES[kind])
            continue
        stated = Checkpoint.read(note)
        if size not in log.sound or stated is None or size > len(log.tree):
            continue
        if not (_is_stamp_of(content, note) if kind == "rfc3161" else _are_lines(content)):
            outcome.report(CODES[kind])
