"""Takes the runs of a bundle into a store: verified first, all of them or none (docs/format.md, section 9)."""

from collections.abc import Iterator
from pathlib import Path

from store.arrival import Arrival
from store.bundle import records, source
from store.bundle.proof import verify_members
from store.bundle.records import Bundle
from store.core import checkpoint, leaf
from store.core.checkpoint import VerifierKey
from store.core.draft import Opening
from store.core.errors import EdgetapeError, Malformed
from store.core.leaf import AnnotationHead, PayloadErased
from store.verify.terms import Terms
from store.verify.verdict import Tally, Verdict, first_bad
from store.writer import Writer


class NotImported(EdgetapeError):
    """A bundle that does not verify, or does not hold all of its runs."""


def take_in(path: Path, writer: Writer, pin: VerifierKey | None = None) -> tuple[Verdict, list[str]]:
    """The verdict on the bundle, and the ids of its runs, which are in the store then; annotations only where they
    verify.

    Raises NotImported, StoreUnusable, InvalidEvent (a run that is here already).
    """
    try:
        with source.opened(path) as members:
            verdict = verify_members(members, Terms(pin))
            bundle = records.read(members, Tally())
            if not verdict.is_sound or bundle is None:
                found = first_bad(verdict.findings)
                raise NotImported(f"the bundle does not verify: {found or verdict.line}", hint="edgetape verify FILE")
            if bundle.manifest.bodies != "included":
                raise NotImported("the bodies were left out of the bundle", hint="ask for one that has them")
            spoken = verdict.remarks.word == "VERIFIED"
            writer.take_in([_arrival(bundle, run, spoken=spoken) for run in bundle.manifest.runs]).result()
            return verdict, list(bundle.manifest.runs)
    except Malformed as error:
        raise NotImported(f"not a bundle: {error}") from error


def runs_of(path: Path) -> list[str]:
    """The ids of the runs that a bundle says it holds; nothing of it is verified. Raises NotImported, StoreUnusable."""
    try:
        with source.opened(path) as members:
            bundle = records.read(members, Tally())
    except Malformed as error:
        raise NotImported(f"not a bundle: {error}") from error
    if bundle is None or not bundle.manifest.runs:
        raise NotImported("the bundle does not say which runs it holds", hint="edgetape verify FILE")
    return list(bundle.manifest.runs)


def _arrival(bundle: Bundle, run: str, *, spoken: bool) -> Arrival:
    ((size, note),) = bundle.checkpoints()
    openings: dict[int, list[Opening]] = {}
    kept = bundle.content(run, bundle.manifest.origin)
    for seq, row in kept.openings:
        content = b"" if row.place is None else kept.bodies.body(row.place, row.length)
        opening = Opening(row.pointer, row.salt, row.sha256, content)
        openings.setdefault(seq, []).append(opening)
    stated = checkpoint.parse(note).checkpoint
    raws = [row.raw for row in bundle.events(run)]
    said = bundle.annotations(run, stated.origin) if spoken else []
    told = [facts for facts in _told(bundle, run) if spoken or isinstance(facts, PayloadErased)]
    return Arrival(run, stated.origin, size, stated.root, raws, openings, told, said)


def _told(bundle: Bundle, run: str) -> Iterator[PayloadErased | AnnotationHead]:
    """What the log says was erased of a run, and said about it, in its order: words that were said later stay."""
    for raw in bundle.log or (proof.leaf for proof in bundle.shown):
        _, facts = leaf.decode(raw)
        if isinstance(facts, PayloadErased | AnnotationHead) and facts.run == run:
            yield facts
