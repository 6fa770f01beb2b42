"""Checks the annotations of a run, a verdict of their own: what is wrong with one says nothing against the log; pure.

docs/format.md, section 7, rule 16.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from store.core import annotation, digest
from store.core.annotation import Annotation, Kept, Place, Words
from store.core.errors import KeyUnavailable, Malformed
from store.core.shape import UnknownVersion
from store.verify.verdict import Remarks, Tally

ERASED, UNSEALED = "ANNOTATIONS_ERASED", "ANNOTATIONS_UNSEALED"
LOCKED, WITHHELD = "ANNOTATIONS_LOCKED", "ANNOTATIONS_WITHHELD"
NONE_OF_THEM = Remarks()


@dataclass(slots=True)
class Annotated:
    """What the log says of the annotations of one run: `heads` are (position, how many, hash of the last), `erased` how
    many there were when words were erased, and about which event, None for all.
    """

    heads: list[tuple[int, int, str]] = field(default_factory=list)
    erased: list[tuple[int, int | None]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many annotations the log knows."""
        return max((n for _, n, _ in self.heads), default=0)

    def sealed(self, size: int) -> int:
        """How many of them a checkpoint of `size` leaves covers."""
        return max((n for position, n, _ in self.heads if position < size), default=0)

    def erase(self, seq: int | None) -> None:
        """Takes in that the bodies of an event, or of all, were erased: words about it that were there went along."""
        self.erased.append((self.count, seq))

    def is_erased(self, number: int, seq: int) -> bool:
        """Whether the words of an annotation of this event are erased on record."""
        return any(number < count and about in (None, seq) for count, about in self.erased)


@dataclass(slots=True)
class Check:
    """One run's annotations against one another, its events and the log.

    `begun` is what the first one follows, None where that is not known; `hashes` are the hashes of the events that are
    spoken of, as they are kept and as their bytes give them; `sealed` is how many leaves the checkpoint covers; with
    `newer` the log has leaves that this program cannot read; without `words` these were left out.
    """

    run: str
    begun: str | None
    log: Annotated
    hashes: Mapping[int, Collection[bytes]]
    sealed: int
    newer: bool = False
    words: bool = True
    tally: Tally = field(default_factory=Tally)
    _given: dict[int, str] = field(default_factory=dict)

    def of(self, rows: Iterable[Kept]) -> Remarks:
        """What is found; `rows` are in order of number."""
        count, last = 0, -1
        for row in rows:
            count += 1
            if row.number <= last:
                self._find("V701", f"annotation {row.number} is there twice")
                continue
            if row.number > last + 1:
                self._find("V701", f"annotation {last + 1} is missing")
            self._given[row.number] = digest.annotation_hash(row.raw).hex()
            last = row.number
            self._row(row)
        if self.log.count > last + 1:
            self._find("V703", f"the log has {self.log.count} annotations, there are {last + 1}")
        self.tally.counts[UNSEALED] += max(0, last + 1 - self.log.sealed(self.sealed))
        return Remarks(count, tuple(self.tally.findings), tuple(self.tally.newer), +self.tally.counts)

    def _find(self, code: str, sentence: str, seq: int | None = None) -> None:
        self.tally.find(code, sentence, self.run, seq)

    def _row(self, row: Kept) -> None:
        at = row.number
        try:
            place, said = annotation.decode(row.raw)
        except UnknownVersion as error:
            self.tally.newer.append(f"annotation {at} of run {self.run}: {error}")
            return
        except Malformed as error:
            self._find("V701", f"annotation {at}: {error}")
            return
        fault = self._fault(at, place, said)
        if fault:
            self._find("V701", f"annotation {at} {fault}", said.seq)
        if bytes.fromhex(said.event_hash) not in self.hashes.get(said.seq, ()):
            self._find("V702", f"annotation {at} is about an event {said.seq} that the run does not have", said.seq)
        if self.words:
            self._check_words(at, said, row.words)
        else:
            self.tally.counts[WITHHELD] += 1

    def _fault(self, at: int, place: Place, said: Annotation) -> str:
        """What breaks the chain at an annotation: one that was changed is named itself, not the one behind it."""
        heads = {head for _, n, head in self.log.heads if n == at + 1}
        if heads and self._given[at] not in heads:
            return "is not the one that the log committed to"
        if at >= self.log.count and not self.newer:
            return "is not known to the log"
        if (place.run, place.number) != (self.run, at):
            return "says that it stands elsewhere"
        if said.supersedes is not None and said.supersedes >= at:
            return "corrects what was not said yet"
        before = {self.begun} if at == 0 else {self._given.get(at - 1)}
        before |= {head for _, n, head in self.log.heads if n == at > 0}
        return "" if None in before or place.prev in before else "does not follow the one before it"

    def _check_words(self, at: int, said: Annotation, words: object) -> None:
        gone = self.log.is_erased(at, said.seq)
        if isinstance(words, KeyUnavailable):
            self.tally.counts[LOCKED] += 1
        elif words is None and gone:
            self.tally.counts[ERASED] += 1
        elif words is None:
            self._find("V704", f"the text of annotation {at} is missing, no erasure of it is on record", said.seq)
        elif gone:
            self._find("V704", f"the text of annotation {at} is erased on record, and still there", said.seq)
        elif not isinstance(words, Words) or words.body != said.text:
            self._find("V704", f"the text of annotation {at} is not what it commits to", said.seq)


def strays(runs: Iterable[str]) -> Remarks:
    """Annotations of runs that are not there."""
    tally = Tally()
    for run in runs:
        tally.find("V702", "there are annotations of a run that is not there", run)
    return Remarks(0, tuple(tally.findings), (), Counter())
