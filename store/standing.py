"""What the store log says was done to runs: held, erased, pruned (docs/format.md, sections 5 and 6)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from store.core import leaf
from store.core.errors import Malformed
from store.core.shape import VERSION
from store.database.connection import Connection

# How leaves that matter here end: their members stand in order of name, and behind the type comes the version alone.
_ENDS = tuple(
    f'"type":"{kind}","v":{VERSION}}}'.encode()
    for kind in ("hold.set", "hold.release", "payload.erased", "retention.pruned", "run.import", "run.tag")
)
_MATTER = " OR ".join(
    f"substr(leaf, length(leaf) - {len(end) - 1}) = ?{number}" for number, end in enumerate(_ENDS, start=1)
)


@dataclass(frozen=True, slots=True)
class Standing:
    """What is said of one run. `erased` are the seqs whose bodies are gone, None among them for all; `erasure` is
    when, and as what, bodies were erased last; `pruned` when and why the whole run left; `tags` are sorted by key.
    """

    hold: leaf.HoldSet | None = None
    erased: frozenset[int | None] = frozenset()
    erasure: tuple[str, leaf.PayloadErased] | None = None
    pruned: tuple[str, leaf.RetentionPruned] | None = None
    tags: tuple[tuple[str, str], ...] = ()

    def after(self, ts: str, facts: object) -> "Standing":
        """The same, once a further leaf is read that was written at `ts`."""
        match facts:
            case leaf.HoldSet():
                return replace(self, hold=facts)
            case leaf.HoldReleased():
                return replace(self, hold=None)
            case leaf.PayloadErased():
                return replace(self, erased=self.erased | {facts.seq}, erasure=(ts, facts))
            case leaf.RetentionPruned():
                return Standing(pruned=(ts, facts))
            case leaf.RunTagged(key=key, text=text):
                kept = {name: said for name, said in self.tags if name != key}
                now = kept if text is None else {**kept, key: text}
                return replace(self, tags=tuple(sorted(now.items())))
            case leaf.RunImported():
                return replace(self, pruned=None)
        return self


NOTHING = Standing()


def of_all(connection: Connection) -> Mapping[str, Standing]:
    """Every run of which something is said."""
    found: dict[str, Standing] = {}
    rows = connection.execute(f"SELECT leaf FROM leaves WHERE {_MATTER} ORDER BY position", _ENDS)
    for ts, facts in _readable(raw for (raw,) in rows):
        run = str(getattr(facts, "run", ""))
        found[run] = found.get(run, NOTHING).after(ts, facts)
    return {run: standing for run, standing in found.items() if standing != NOTHING}


def of_run(connection: Connection, run: str) -> Standing:
    """What is said of one run."""
    found = NOTHING
    for ts, facts in _leaves_of(connection, run):
        found = found.after(ts, facts)
    return found


def erased(connection: Connection, run: str, seq: int) -> tuple[str, leaf.PayloadErased] | None:
    """When and why the bodies of an event were erased, if they were."""
    found = None
    for ts, facts in _leaves_of(connection, run):
        if isinstance(facts, leaf.RetentionPruned):
            found = None
        elif isinstance(facts, leaf.PayloadErased) and facts.seq in (None, seq):
            found = found or (ts, facts)
    return found


def _leaves_of(connection: Connection, run: str) -> Iterable[tuple[str, object]]:
    query = f"SELECT leaf FROM leaves WHERE ({_MATTER}) AND instr(leaf, ?{len(_ENDS) + 1}) > 0 ORDER BY position"
    for ts, facts in _readable(
        raw for (raw,) in connection.execute(query, (*_ENDS, run.encode("utf-8", "surrogateescape"))).fetchall()
    ):
        if getattr(facts, "run", None) == run:
            yield ts, facts


def _readable(raws: Iterable[bytes]) -> Iterable[tuple[str, object]]:
    for raw in raws:
        try:
            yield leaf.decode(bytes(raw))
        except Malformed:
            continue  # `edgetape verify` names it
