"""The annotations of the runs, and their words: the one room that asks for them, and appends (docs/format.md, 10).

Rules kept here:
- The transaction that writes an annotation writes the leaf that commits to it: one that is cut off is missed at once.
- What is written is redacted first (`Remark` takes nothing else), and its words are closed under the store key.
- Words go with the bodies of the event that they are about; the record that somebody said something stays.
"""

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from store import envelopes, log
from store.cells import blob, exact, number, text
from store.core import annotation, digest, event
from store.core.annotation import Annotation, Kept, Place, UnfitAnnotation, Words
from store.core.errors import EdgetapeError, KeyUnavailable, Malformed, StoreUnusable, UnknownRun
from store.core.leaf import AnnotationHead
from store.core.redact import Redacted
from store.core.text import Tallies
from store.database import has_table
from store.database.connection import Connection
from store.storekey import StoreKey
from store.vault import Vault

type Change = Callable[[Connection, str], None]


@dataclass(frozen=True, slots=True)
class Remark:
    """What is to be said about the event `seq` of a run."""

    run: str
    seq: int
    by: str
    kind: str
    text: Redacted
    supersedes: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """One annotation as it is read: `text` is None where its words are not to be had, `missing` says why;
    `superseded` is the number of the annotation that corrects it.
    """

    place: Place
    facts: Annotation
    text: str | None
    missing: str = ""
    superseded: int | None = None

    def record(self) -> dict[str, object]:
        """As --json prints it."""
        return {
            "number": self.place.number,
            "run": self.place.run,
            "seq": self.facts.seq,
            "event_hash": self.facts.event_hash,
            "at": self.place.ts,
            "by": self.facts.by,
            "kind": self.facts.kind,
            "text": self.text,
            "missing": self.missing or None,
            "supersedes": self.facts.supersedes,
            "superseded": self.superseded,
            "redactions": self.facts.redactions or [],
        }


def annotating(remark: Remark, vault: Vault, told: Callable[[int], object]) -> Change:
    """What `Writer.change` is to do to note a remark; `told` gets its number. The ticket raises UnknownRun where there
    is no such event, UnfitAnnotation for a correction of what is not there, KeyUnavailable.
    """

    def apply(connection: Connection, ts: str) -> None:
        place = _next(connection, remark.run, ts)
        words = Words(secrets.token_bytes(digest.SALT_BYTES), remark.text.content)
        raw = annotation.encode(place, _facts(connection, remark, place.number, words))
        _insert(connection, remark.run, place.number, raw, words, vault)
        head = digest.annotation_hash(raw).hex()
        log.append(connection, ts, AnnotationHead(run=remark.run, n=place.number + 1, head=head))
        told(place.number)

    return apply


def take_in(connection: Connection, run: str, kept: Sequence[Kept], vault: Vault) -> None:
    """Writes the annotations of a run that comes from another store, in the caller's transaction."""
    for each in kept:
        _insert(connection, run, each.number, each.raw, each.words if isinstance(each.words, Words) else None, vault)


def of_run(connection: Connection, run: str, vault: Vault) -> Iterator[Kept]:
    """The annotations of a run in order, as they are stored; words without an annotation are of one without bytes."""
    if not is_known(connection):
        return
    columns = f"{number('number')}, {blob('annotation')}"
    query = f"SELECT {columns} FROM annotations WHERE run = CAST(? AS TEXT) ORDER BY 1"
    rows = connection.execute(query, (exact(run),)).fetchall()
    query = f"SELECT {number('number')}, {blob('stored')} FROM annotation_texts WHERE run = CAST(? AS TEXT)"
    stored = dict(connection.execute(query, (exact(run),)).fetchall())
    strays = [(at, b"") for at in stored.keys() - {at for at, _ in rows}]
    for at, raw in sorted([*rows, *strays]):
        yield Kept(at, raw, _words(connection, run, at, stored.get(at), vault))


def runs(connection: Connection) -> set[str]:
    """The ids of the runs that have annotations, or words of some."""
    if not is_known(connection):
        return set()
    query = f"SELECT {text('run')} FROM annotations UNION SELECT {text('run')} FROM annotation_texts"
    return {run for (run,) in connection.execute(query)}


def said(kept: Sequence[Kept], absent: str = "erased") -> list[Said]:
    """Annotations as they read; what is none is left out, `edgetape verify` names it. `absent` says why words are not
    there.
    """
    found = []
    for each in kept:
        try:
            place, facts = annotation.decode(each.raw)
        except Malformed:
            continue
        words, missing = each.words, absent
        if isinstance(words, EdgetapeError):
            words, missing = None, str(words)
        elif words is not None and words.body != facts.text:
            words, missing = None, "its text is not what was committed"
        read = None if words is None else words.text.decode("utf-8", "replace")
        found.append(Said(place, facts, read, "" if words else missing))
    by_whom = {each.facts.supersedes: each.place.number for each in found}
    return [Said(each.place, each.facts, each.text, each.missing, by_whom.get(each.place.number)) for each in found]


def words_of(connection: Connection, run: str, seqs: Collection[int] | None) -> list[tuple[int, int, int]]:
    """(number, seq, bytes) of the words about these events, or all of a run, that are there."""
    if not is_known(connection):
        return []
    query = (
        "SELECT a.number, a.annotation, LENGTH(t.stored) FROM annotations a"
        " JOIN annotation_texts t ON t.run = a.run AND t.number = a.number WHERE a.run = ? ORDER BY a.number"
    )
    rows = [(at, _seq(raw), size) for at, raw, size in connection.execute(query, (run,)).fetchall()]
    return [(at, seq, size - _AROUND) for at, seq, size in rows if seqs is None or seq in seqs]


def erase(connection: Connection, run: str, seqs: Collection[int] | None) -> None:
    """Erases the words about these events, or all of a run, in the caller's transaction."""
    if seqs is None:
        connection.execute("DELETE FROM annotation_texts WHERE run = ?", (run,))
        return
    for at, _, _ in words_of(connection, run, seqs):
        connection.execute("DELETE FROM annotation_texts WHERE run = ? AND number = ?", (run, at))


def close_anew(connection: Connection, origin: str, old: StoreKey, new: StoreKey) -> None:
    """Closes all words under another store key, in the caller's transaction. Raises Malformed where some cannot be
    opened, for they would be lost.
    """
    query = "SELECT run, number, stored FROM annotation_texts ORDER BY run, number"
    rows = connection.execute(query).fetchall()
    opened = [(run, at, old.unwrap(origin, run, _kind(at), stored)) for run, at, stored in rows]
    connection.execute("DELETE FROM annotation_texts")
    for run, at, content in opened:
        _store(connection, run, at, new.wrap(origin, run, _kind(at), content))


def is_known(connection: Connection) -> bool:
    """Whether the store has the tables: one that was not written since there are annotations has not."""
    return has_table(connection, "annotation_texts")


# A nonce, a salt and a tag stand around the text (docs/format.md, section 5).
_AROUND = 12 + digest.SALT_BYTES + 16


def _next(connection: Connection, run: str, ts: str) -> Place:
    query = "SELECT number, annotation FROM annotations WHERE run = ? ORDER BY number DESC LIMIT 1"
    row = connection.execute(query, (run,)).fetchone()
    if row is not None:
        return Place(run, row[0] + 1, digest.annotation_hash(row[1]).hex(), ts)
    first = envelopes.first(connection, run)
    if first is None:
        raise UnknownRun(f"there is no run {run} in this store")
    return Place(run, 0, event.decode(first.raw).place.prev, ts)


def _facts(connection: Connection, remark: Remark, at: int, words: Words) -> Annotation:
    found = envelopes.one(connection, remark.run, remark.seq)
    if found is None:
        raise UnknownRun(f"run {remark.run} has no event {remark.seq}", hint=f"edgetape show {remark.run}")
    before = remark.supersedes
    if before is not None and (before >= at or _said_about(connection, remark.run, before) != remark.seq):
        raise UnfitAnnotation(
            f"there is no annotation {before} of this event to correct", hint=f"edgetape annotations {remark.run}"
        )
    tallies: Tallies = [[kind, count] for kind, count in remark.text.marks]
    return Annotation(
        seq=remark.seq,
        event_hash=digest.event_hash(found.raw).hex(),
        by=remark.by,
        kind=remark.kind,
        text=words.body,
        supersedes=before,
        redactions=tallies or None,
    )


def _said_about(connection: Connection, run: str, at: int) -> int:
    query = "SELECT annotation FROM annotations WHERE run = ? AND number = ?"
    row = connection.execute(query, (run, at)).fetchone()
    return -1 if row is None else _seq(row[0])


def _seq(raw: bytes) -> int:
    try:
        return annotation.decode(raw)[1].seq
    except Malformed:
        return -1


def _insert(connection: Connection, run: str, at: int, raw: bytes, words: Words | None, vault: Vault) -> None:
    connection.execute("INSERT INTO annotations (run, number, annotation) VALUES (?, ?, ?)", (run, at, raw))
    if words is not None:
        _store(connection, run, at, vault.store_key(connection).wrap(vault.origin, run, _kind(at), words.stored))


def _store(connection: Connection, run: str, at: int, stored: bytes) -> None:
    query = "INSERT INTO annotation_texts (run, number, stored) VALUES (?, ?, ?)"
    connection.execute(query, (run, at, stored))


def _words(
    connection: Connection, run: str, at: int, stored: bytes | None, vault: Vault
) -> Words | EdgetapeError | None:
    if stored is None:
        return None
    try:
        return Words.of(vault.store_key(connection).unwrap(vault.origin, run, _kind(at), stored))
    except (KeyUnavailable, Malformed, StoreUnusable) as error:
        return error


def _kind(at: int) -> str:
    return f"annotation/{at}"
