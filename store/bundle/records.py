"""The records of a bundle for verification: checked against its manifest, believed no further; pure.

Rules kept here:
- What is wrong with the container is found first (V101-V104); members that can be read are judged all the same.
- A body is looked at where its opening names it, so a damaged one is found at its event.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from store.bundle import anchors, contents, manifest
from store.bundle.contents import OpeningLine
from store.bundle.manifest import Manifest
from store.core import checkpoint, digest, inclusion, merkle
from store.core.annotation import Kept
from store.core.errors import Malformed
from store.core.inclusion import Proof
from store.envelopes import Envelope
from store.labels.describe import plural
from store.openings import OpeningRow
from store.payloads import Oversize
from store.verify.records import CatalogueRow, Content, Extent, Outside
from store.verify.verdict import Tally

type Members = Mapping[str, memoryview]


@dataclass(frozen=True, slots=True)
class Blobs:
    """The bodies of one run of a bundle, by the place of their lines (`StoredBodies`)."""

    members: Members
    lines: Sequence[OpeningLine]
    exact: bool = True

    def body(self, place: int, length: int) -> bytes:
        """See StoredBodies."""
        blob = self.members[f"blobs/{self.lines[place].sha256}"]
        if len(blob) > length:
            raise Oversize(f"{plural(len(blob), 'byte')}, its opening says {length}")
        if len(blob) < length:
            raise Malformed(f"{plural(len(blob), 'byte')}, its opening says {length}")
        return bytes(blob)


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a bundle holds, in the shape that verification reads (`Records`)."""

    manifest: Manifest
    members: Members
    rows: Mapping[str, list[Envelope]]
    lines: Mapping[str, list[OpeningLine]]
    said: Mapping[str, list[Kept]]
    log: tuple[bytes, ...]
    shown: tuple[Proof, ...]

    @property
    def extent(self) -> Extent:
        """The runs that the manifest claims."""
        said, expected = self.manifest, sum(map(len, self.rows.values()))
        return Extent(said.runs, said.bodies == "included", said.log == "full", ordered=False, expected=expected)

    def leaves(self) -> Iterator[tuple[int, bytes]]:
        """See Records."""
        yield from enumerate(self.log)

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """See Records: a bundle keeps none, they are what its leaves give."""
        return merkle.Forest(self.log).nodes()

    def proofs(self) -> Iterator[Proof]:
        """See Records."""
        yield from self.shown

    def checkpoints(self) -> list[tuple[int, bytes]]:
        """See Records: the one checkpoint."""
        note = self.members.get(manifest.CHECKPOINT)
        return [] if note is None else [(self.manifest.size, bytes(note))]

    def runs(self) -> list[str]:
        """See Records."""
        return sorted({*self.rows, *self.lines})

    def events(self, run: str) -> Iterator[Envelope]:
        """See Records; in the order of the lines."""
        yield from self.rows.get(run, ())

    def content(self, run: str, origin: str | None) -> Content:
        """See Records: blobs are there as they are, in no stored form."""
        return Content(self._rows(run), Blobs(self.members, self.lines.get(run, ())))

    def _rows(self, run: str) -> Iterator[tuple[int, OpeningRow]]:
        """The place of a body is that of its line."""
        for place, line in enumerate(self.lines.get(run, ())):
            kept = place if f"blobs/{line.sha256}" in self.members else None
            yield line.seq, OpeningRow(line.pointer, line.salt_bytes, bytes.fromhex(line.sha256), line.length, kept)

    def strays(self, run: str) -> list[tuple[int, str]]:
        """See Records: bodies without an opening belong to no run."""
        return []

    def outside(self) -> Outside:
        """See Records."""
        return anchors.outside(self.members)

    def annotations(self, run: str, origin: str | None) -> list[Kept]:
        """See Records; in the order of the lines."""
        return list(self.said.get(run, ()))

    def annotated(self) -> set[str]:
        """See Records."""
        return set(self.said)

    def catalogue(self) -> Mapping[str, CatalogueRow] | None:
        """See Records: a bundle has none."""
        return None


def read(members: Members, tally: Tally) -> Bundle | None:
    """The records of these members; None, with a finding, where no manifest says what they are."""
    raw = members.get(manifest.NAME)
    if raw is None:
        tally.find("V101", "there is no manifest.json")
        return None
    try:
        said = manifest.parse(bytes(raw))
    except Malformed as error:
        tally.find("V101", str(error))
        return None
    _check_members(said, members, tally)
    known = {name: content for name, content in members.items() if name in said.members and said.allows(name)}
    lines = _openings(known, tally)
    rows: dict[str, list[Envelope]] = {}
    raws = _lines(known, manifest.EVENTS, tally)
    for row in contents.event_rows(raws, _hashes(known, raws, tally), said.runs):
        rows.setdefault(row.run, []).append(row)
    log = tuple(_lines(known, manifest.LOG, tally))
    spoken = _lines(known, manifest.ANNOTATIONS, tally)
    if manifest.ANNOTATIONS in known and not spoken:
        tally.find("V104", f"{manifest.ANNOTATIONS} has no line")
    remarks = contents.annotations(spoken, said.runs)
    bundle = Bundle(said, known, rows, lines, remarks, log, tuple(_proofs(known, tally)))
    _check_claims(bundle, tally)
    _check_anchors(bundle, tally)
    return bundle


def _check_members(said: Manifest, members: Members, tally: Tally) -> None:
    for name in sorted(members.keys() - said.members.keys() - {manifest.NAME}):
        tally.find("V102", name)
    for name in sorted(said.members):
        if not said.allows(name):
            tally.find("V102", f"no such bundle has a member {name}")
    for name in sorted((said.required | said.members.keys()) - members.keys()):
        tally.find("V103", name)
    for name in sorted(said.required & members.keys() - said.members.keys()):
        tally.find("V103", f"{name} is not in the manifest")
    for name in sorted(said.members.keys() & members.keys()):
        found = manifest.sealed(members[name])
        if found != said.members[name] or (name.startswith("blobs/") and name != f"blobs/{found.sha256}"):
            tally.find("V104", name)


def _lines(members: Members, name: str, tally: Tally) -> list[bytes]:
    try:
        return contents.split(members.get(name, b""))
    except Malformed as error:
        tally.find("V104", f"{name}: {error}")
        return bytes(members[name]).split(b"\n")


def _hashes(members: Members, raws: list[bytes], tally: Tally) -> list[bytes]:
    """The hash kept with each event, so that a changed one is named and not the one behind it."""
    try:
        return contents.hashes(members.get(manifest.HASHES, b""), len(raws))
    except Malformed as error:
        tally.find("V104", f"{manifest.HASHES}: {error}")
        return [digest.event_hash(raw) for raw in raws]


def _openings(members: Members, tally: Tally) -> dict[str, list[OpeningLine]]:
    found: dict[str, list[OpeningLine]] = {}
    places: list[tuple[str, int, str]] = []
    for number, raw in enumerate(_lines(members, manifest.OPENINGS, tally), start=1):
        try:
            line = contents.opening(raw)
        except Malformed as error:
            tally.find("V602", f"line {number} of {manifest.OPENINGS}: {error}")
            continue
        places.append((line.run, line.seq, line.pointer))
        found.setdefault(line.run, []).append(line)
    if places != sorted(set(places)):
        tally.find("V602", f"{manifest.OPENINGS} names a place twice, or in another order than that of the events")
    named = {f"blobs/{line.sha256}" for lines in found.values() for line in lines}
    for name in sorted(name for name in members if name.startswith("blobs/") and name not in named):
        tally.find("V606", f"{name} is kept, no opening names it")
    return found


def _proofs(members: Members, tally: Tally) -> Iterator[Proof]:
    proven = {int(match[1]): name for name in members if (match := manifest.PROOF.fullmatch(name))}
    for index, name in sorted(proven.items()):
        try:
            proof = inclusion.parse(bytes(members[name]))
            if proof.index != index:
                raise Malformed("it is the proof of another leaf")
        except Malformed as error:
            tally.find("V403", f"{name}: {error}")
        else:
            yield proof


def _check_claims(bundle: Bundle, tally: Tally) -> None:
    """What stands beside the evidence for people's use has to say the same as the evidence, and nothing may follow
    what is signed.
    """
    said = bundle.manifest
    if said.log == "full" and len(bundle.log) != said.size:
        tally.find(
            "V104", f"{manifest.LOG} has {plural(len(bundle.log), 'leaf', 'leaves')}, the checkpoint covers {said.size}"
        )
    others = sorted(bundle.rows.keys() - set(said.runs))
    if others:
        tally.find("V101", f"the manifest does not name the run {others[0]}, of which there are events")
    for run in said.runs:
        if run not in bundle.rows:
            tally.find("V101", f"the manifest names the run {run}, of which there is no event")
    try:
        stated = checkpoint.parse(bytes(bundle.members.get(manifest.CHECKPOINT, b""))).checkpoint
    except Malformed:
        pass  # found where the checkpoint is checked
    else:
        if (stated.origin, stated.size) != (said.origin, said.size):
            tally.find("V101", "the manifest names another log or size than the checkpoint")
    if manifest.VKEY in bundle.members and not _is_key(bytes(bundle.members[manifest.VKEY]), bundle):
        tally.find("V431", "the vkey that lies in the bundle is not the one that its log names")


def _check_anchors(bundle: Bundle, tally: Tally) -> None:
    """The anchors that belong to the runs have to be there, and no others."""
    leaves = enumerate(bundle.log) if bundle.log else ((each.index, each.leaf) for each in bundle.shown)
    points = {run: contents.point(rows[0].raw) for run in bundle.manifest.runs if (rows := bundle.rows.get(run))}
    wanted = anchors.belonging(anchors.gathered(leaves), points).names(proofs=bundle.manifest.log == "proofs")
    there = {name for name in bundle.members if manifest.ANCHOR.fullmatch(name)}
    for name in sorted(there - wanted):
        tally.find("V102", f"no anchor of these runs is {name}")
    for name in sorted(wanted - bundle.manifest.members.keys()):
        tally.find("V103", name)


def _is_key(raw: bytes, bundle: Bundle) -> bool:
    """Whether this is the key that the leaves brought into force last; who signs is checked where the log is."""
    leaves = bundle.log or [each.leaf for each in bundle.shown]
    named = [vkey for vkey in map(contents.new_key, leaves) if vkey is not None]
    return not named or raw == f"{named[-1]}\n".encode()
