"""Sections 6 and 7: the store log, its tree and its checkpoints (rules 6 to 8)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.support.verifier.canonical import LONGEST, NotCanonicalError, Record, read
from tests.support.verifier.hashes import Tree, leaf_hash
from tests.support.verifier.keys import Ring, Term
from tests.support.verifier.kinds import is_leaf, is_newer
from tests.support.verifier.notes import Checkpoint, Key
from tests.support.verifier.outcome import Outcome
from tests.support.verifier.rows import Rows

ABOUT_EVENTS = {"run.open", "run.head", "run.close", "run.import"}
PRUNED = "retention.pruned"


@dataclass
class Log:
    """What the log says, as far as it can be read."""

    length: int = 0
    records: dict[int, Record] = field(default_factory=dict)
    origin: str | None = None
    ring: Ring = field(default_factory=Ring)
    newer: bool = False
    sealed: int = 0
    sound: set[int] = field(default_factory=set)
    unread: set[int] = field(default_factory=set)
    tree: Tree = field(default_factory=lambda: Tree([]))

    def of_run(self, run: str) -> list[tuple[int, Record]]:
        """List the leaves that name a run, since it was pruned; of several that open or close it, only the first."""
        once: set[object] = set()
        found: list[tuple[int, Record]] = []
        start = self._pruned_at(run)
        for position, leaf in self.records.items():
            if position <= start or leaf.get("run") != run or leaf["type"] in once or leaf["type"] not in ABOUT_EVENTS:
                continue
            found.append((position, leaf))
            if leaf["type"] != "run.head":
                once.add(leaf["type"])
        return found

    def origin_of(self, run: str) -> str:
        """Give the store in which a run began: another one, where it was imported."""
        imported = [str(leaf["origin"]) for _, leaf in self.of_run(run) if leaf["type"] == "run.import"]
        return [*imported, self.origin or ""][0]

    def is_pruned(self, run: str) -> bool:
        """Say whether a run was pruned, and neither opened nor imported since."""
        since = {leaf["type"] for _, leaf in self.of_run(run)}
        return self._pruned_at(run) >= 0 and not since & {"run.open", "run.import"}

    def since_pruned(self, run: str) -> list[tuple[int, Record]]:
        """List all leaves that name a run, since it was pruned."""
        start = self._pruned_at(run)
        return [(at, leaf) for at, leaf in self.records.items() if at > start and leaf.get("run") == run]

    def _pruned_at(self, run: str) -> int:
        places = (at for at, leaf in self.records.items() if leaf["type"] == PRUNED and leaf["run"] == run)
        return max(places, default=-1)

    def runs(self) -> list[str]:
        """List the runs that leaves name."""
        about = [leaf for leaf in self.records.values() if leaf["type"] in {*ABOUT_EVENTS, PRUNED}]
        return sorted({run for leaf in about if isinstance(run := leaf.get("run"), str)})

    def is_erased(self, run: str, seq: int) -> bool:
        """Say whether a leaf tells that the bodies of an event, or of all its run, were erased."""
        start = self._pruned_at(run)
        return any(
            at > start and leaf["type"] == "payload.erased" and leaf["run"] == run and leaf.get("seq", seq) == seq
            for at, leaf in self.records.items()
        )

    def is_all_erased(self, run: str) -> bool:
        """Say whether a leaf tells that all bodies of a run were erased."""
        start = self._pruned_at(run)
        return any(
            at > start and leaf["type"] == "payload.erased" and leaf["run"] == run and "seq" not in leaf
            for at, leaf in self.records.items()
        )

    def has_root(self, size: int, root: bytes) -> bool:
        """Say whether the first leaves have this root; true where leaves are missing and it cannot be known."""
        return size > len(self.tree) or (size >= 0 and self.tree.root(size) == root)


def _once[Place](rows: Iterable[tuple[Place, bytes]], outcome: Outcome) -> dict[Place, bytes]:
    """Take the first row of each key; a further one is one too many."""
    found: dict[Place, bytes] = {}
    for key, data in rows:
        if key in found:
            outcome.report("V403")
        found.setdefault(key, data)
    return found


def _read_leaf(data: bytes) -> Record | None:
    if len(data) > LONGEST:
        return None
    try:
        return read(data)
    except NotCanonicalError:
        return None


def _read_leaves(leaves: dict[int, bytes], log: Log, outcome: Outcome) -> None:
    for position, data in leaves.items():
        record = _read_leaf(data)
        if record is not None and is_newer(record):
            log.newer = True
            log.unread.add(position)
            outcome.newer += 1
        elif record is None or not is_leaf(record) or (record["type"] == "store.created") is not (position == 0):
            log.unread.add(position)
            outcome.report("V301")
        else:
            log.records[position] = record
    created = log.records.get(0)
    if created is not None and isinstance(origin := created["origin"], str) and isinstance(created["vkey"], str):
        log.origin = origin
        if (key := Key.read(created["vkey"])) is not None:
            log.ring.terms.append(Term(key, created["vkey"]))
    for position, leaf in log.records.items():
        if not log.ring.take(position, leaf):
            outcome.report("V401")


def _check_nodes(leaves: dict[int, bytes], nodes: dict[tuple[int, int], bytes], log: Log, outcome: Outcome) -> None:
    """Hold the kept nodes against those that the leaves give, up to the first leaf that is missing."""
    expected = 0
    whole: int | None = None
    for position in leaves:
        if position != expected:
            outcome.report("V403")
            whole = expected if whole is None else whole
        expected = position + 1
    end = expected if whole is None else whole
    log.tree = Tree([leaf_hash(leaves[position]) for position in range(end)])
    true = {(level, p): node for level, row in enumerate(log.tree.levels) for p, node in enumerate(row)}
    for place, node in true.items():
        if nodes.get(place) != node:
            outcome.report("V403")
    for level, position in nodes.keys() - true.keys():
        past = whole is not None and level >= 0 and (position + 1) << level > whole
        if not past:
            outcome.report("V403")


def _check_checkpoints(rows: Rows, log: Log, pinned: Key | None, outcome: Outcome) -> None:
    ring = log.ring if pinned is None or log.ring.find(pinned) else Ring([Term(pinned, "")])
    unknown = pinned is None and log.origin is None
    for size, data in rows.checkpoints().items():
        before = len(outcome.findings)
        note = Checkpoint.read(data)
        if note is None:
            outcome.report("V401")
            continue
        if not unknown and (code := ring.judge(note)) is not None:
            outcome.report(code)
        if log.origin is not None and note.origin != log.origin:
            outcome.report("V404")
        if note.size > log.length:
            outcome.report("V402")
        if note.size != size or (note.size <= log.length and not log.has_root(note.size, note.root)):
            outcome.report("V403")
        elif note.size <= log.length:
            log.sealed = max(log.sealed, note.size)
        if not unknown and len(outcome.findings) == before:
            log.sound.add(size)


def check_log(rows: Rows, pinned: Key | None, outcome: Outcome) -> Log:
    """Verify the log and its checkpoints, and give what the log says."""
    leaves = _once(((position, data) for position, data in rows.leaves() if position >= 0), outcome)
    for _ in [position for position, _ in rows.leaves() if position < 0]:
        outcome.report("V403")
    log = Log(length=max(leaves, default=-1) + 1)
    _read_leaves(leaves, log, outcome)
    _check_nodes(leaves, _once(rows.nodes(), outcome), log, outcome)
    if pinned is not None and log.origin is not None and not log.ring.find(pinned):
        outcome.report("V431")
    _check_checkpoints(rows, log, pinned, outcome)
    for _ in range(rows.doubled_checkpoints()):
        outcome.report("V204")
    if leaves and not rows.checkpoints():
        outcome.report("V001")
    return log
