"""The anchors of a bundle: which of a store's belong to it, under which names, and back; pure.

docs/format.md, section 9.

Rules kept here:
- What belongs to a bundle follows from the leaves below its checkpoint and from its runs, so an export stays a function
  of both, and a member that is missing, or one too many, is found.
- A stamped or cosigned checkpoint is older than the bundle's. The whole log gives its root; single leaves do not, so
  a proof that the log only adds to it lies beside it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from store.core.errors import Malformed
from store.core.leaf import Anchored, AnchorKind
from store.core.submission import Submission
from store.verify.ledger import Commitment, Ledger, take
from store.verify.records import Outside
from store.verify.verdict import Tally

SUFFIXES: Mapping[AnchorKind, str] = {"rfc3161": "tsr", "cosignature": "cosignature"}


@dataclass(frozen=True, slots=True)
class Belonging:
    """The anchors of a bundle by the position of their leaves; the sizes of the older checkpoints that they are of;
    and those sizes of which a proof is needed where the log is not there as a whole.
    """

    anchors: Mapping[int, Anchored]
    notes: frozenset[int]
    proven: frozenset[int]

    def names(self, *, proofs: bool) -> set[str]:
        """The members that a bundle has of them."""
        names = {given(at, each) for at, each in self.anchors.items()}
        names |= {f"anchors/{size}.checkpoint" for size in self.notes}
        return names | ({f"anchors/{size}.consistency" for size in self.proven} if proofs else set())


def given(position: int, facts: Anchored) -> str:
    """The member that holds what somebody outside gave."""
    return f"anchors/{position}.{SUFFIXES[facts.kind]}"


def gathered(leaves: Iterable[tuple[int, bytes]]) -> Ledger:
    """What leaves say, read leniently: whether they are right is checked where the log is."""
    log, heard = Ledger(), Tally()
    for position, raw in leaves:
        take(log, position, raw, heard)
    return log


def belonging(log: Ledger, points: Mapping[str, int]) -> Belonging:
    """The anchors that say something about some runs: of each kind and name the first that covers all of a run, and of
    time stamps the last before it began. `points` are the runs, each with the size of the log that it began with.
    """
    found: dict[int, Anchored] = {}
    proven: set[int] = set()
    for run, point in points.items():
        committed = log.runs.get(run, Commitment())
        end = max((position for position, _ in committed.covered), default=0)
        for own in _by_name(log.anchors):
            after = [at for at, each in own.items() if each.size > end]
            before = [at for at, each in own.items() if at < point and each.kind == "rfc3161"]
            found.update({at: own[at] for at in (*after[:1], *before[-1:])})
            proven |= {point} if before else set()
    notes = frozenset(each.size for each in found.values())
    return Belonging(found, notes, notes | proven)


def reach(log: Ledger, end: int) -> int:
    """How many leaves show runs that end with leaf `end`, and of each kind of anchor the first that covers them."""
    firsts = [
        next((at for at, each in sorted(log.anchors.items()) if each.kind == kind and each.size > end), end)
        for kind in SUFFIXES
    ]
    return max(end, *firsts) + 1


def outside(members: Mapping[str, memoryview]) -> Outside:
    """The anchors that lie in a bundle; a proof that cannot be read proves nothing."""
    contents: dict[int, bytes] = {}
    notes: dict[int, bytes] = {}
    paths: dict[int, tuple[bytes, ...]] = {}
    for number, suffix, content in _numbered(members):
        match suffix:
            case "checkpoint":
                notes[number] = content
            case "consistency":
                paths.update((number, path) for path in _path(number, content))
            case _:
                contents[number] = content
    return Outside(contents, notes, paths)


def _by_name(anchors: Mapping[int, Anchored]) -> Iterator[dict[int, Anchored]]:
    """The anchors of each kind and name, oldest first."""
    for kind, by in sorted({(each.kind, each.by) for each in anchors.values()}):
        yield {at: each for at, each in sorted(anchors.items()) if (each.kind, each.by) == (kind, by)}


def _numbered(members: Mapping[str, memoryview]) -> Iterator[tuple[int, str, bytes]]:
    for name, content in members.items():
        if name.startswith("anchors/"):
            number, _, suffix = name.removeprefix("anchors/").partition(".")
            yield int(number), suffix, bytes(content)


def _path(number: int, content: bytes) -> Iterator[tuple[bytes, ...]]:
    try:
        read = Submission.parse(content)
    except Malformed:
        return
    if read.old == number:
        yield read.path
