"""Puts a bundle together: members in their order, the manifest over them, one file that is verified before it stands.

docs/format.md, section 9.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from store.bundle import contents, manifest, readme
from store.bundle.container import Member, pack
from store.bundle.export import Excerpt
from store.bundle.manifest import Manifest, Sealed
from store.bundle.proof import verify_bundle
from store.core import digest
from store.core.errors import StoreUnusable
from store.output import drafted, written
from store.verify.verdict import Verdict, first_bad

VERIFIER = Path(__file__).with_name("verifier.py")


@dataclass(frozen=True, slots=True)
class Report:
    """The view that lies beside the evidence: a page for people, and the same as JSON."""

    page: bytes
    record: bytes


def verifier() -> bytes:
    """The stand-alone verifier, as it lies in every bundle."""
    return VERIFIER.read_bytes()


def members(taken: Excerpt, report: Report, *, proofs: bool, bodies: bool) -> list[Member]:
    """Every member of a bundle, in the order in which they are packed."""
    events = [raw for run in sorted(taken.runs) for raw in taken.runs[run]]
    evidence = [
        Member.of(manifest.CHECKPOINT, taken.note),
        Member.of(manifest.VKEY, f"{taken.vkey}\n".encode()),
        *taken.log_members(proofs=proofs),
        Member.of(manifest.EVENTS, contents.joined(events)),
        Member.of(manifest.HASHES, contents.joined(digest.event_hash(raw).hex().encode() for raw in events)),
        *(taken.body_members() if bodies else ()),
        *taken.annotation_members(bodies=bodies),
        *taken.anchor_members(proofs=proofs),
    ]
    text = readme.text(
        sorted(taken.runs),
        proofs=proofs,
        bodies=bodies,
        annotated=any(each.name == manifest.ANNOTATIONS for each in evidence),
        anchored=taken.anchored.anchors,
        verifier=_digest(verifier()),
    )
    around = [
        Member.of(manifest.REPORT_PAGE, report.page),
        Member.of(manifest.REPORT, report.record),
        Member.of(manifest.VERIFIER, verifier()),
    ]
    packed = [Member.of(manifest.README, text), *evidence, *around]
    said = Manifest(
        taken.origin,
        taken.size,
        tuple(sorted(taken.runs)),
        "proofs" if proofs else "full",
        "included" if bodies else "withheld",
        {each.name: _sealed(each) for each in packed},
    )
    return [packed[0], Member.of(manifest.NAME, manifest.encode(said)), *packed[1:]]


def write(path: Path, packed: Sequence[Member]) -> Verdict:
    """Writes a bundle to `path`, at once or not at all; its verdict, which is sound.

    Raises StoreUnusable when what was recorded does not verify, NotWritten when the file cannot be written.
    """
    pieces = pack(packed)
    with written("the bundle", path), drafted(path) as made:
        with made.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        verdict = verify_bundle(made)
        if not verdict.is_sound:
            found = first_bad(verdict.findings)
            raise StoreUnusable(
                f"the bundle would not verify, so it is not written: {found or verdict.line}",
                hint="run `edgetape verify`",
            )
    return verdict


def _sealed(member: Member) -> Sealed:
    if member.name.startswith("blobs/"):
        return Sealed(member.length, member.name.removeprefix("blobs/"))
    return manifest.sealed(member.load())


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
