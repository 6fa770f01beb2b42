"""Section 7: a run against the log, and its end (rule 5)."""

from tests.support.verifier.canonical import Record
from tests.support.verifier.events import Found, check_events
from tests.support.verifier.hashes import Tree, genesis_prev
from tests.support.verifier.log import Log
from tests.support.verifier.outcome import Outcome
from tests.support.verifier.rows import Rows


def _is_head(head: object, seq: int, found: Found) -> bool:
    """Say whether a head is that of an event; true of one that is already reported as missing."""
    return found.is_gap(seq) or head in found.hashes.get(seq, set())


def _check_tree_head(found: Found, log: Log, outcome: Outcome) -> None:
    """Hold the size and root of the log that event 0 names against the log."""
    head = found.records[0].get("checkpoint") if 0 in found.records else None
    if not isinstance(head, dict) or not isinstance(size := head["size"], int):
        return
    if size > log.length:
        found.report(outcome, "V402", 0)
    elif not log.has_root(size, bytes.fromhex(str(head["root"]))):
        found.report(outcome, "V403", 0)


def _check_open_leaf(leaf: Record, found: Found, log: Log, outcome: Outcome) -> None:
    if log.origin is not None and leaf["genesis"] != genesis_prev(log.origin, found.run):
        found.report(outcome, "V212", 0)
    if not _is_head(leaf["head"], 0, found):
        found.report(outcome, "V212", 0)


def _check_head_leaf(leaf: Record, found: Found, outcome: Outcome) -> None:
    if isinstance(n := leaf["n"], int) and not _is_head(leaf["head"], n - 1, found):
        found.report(outcome, "V213", n - 1)


def _check_import_leaf(leaf: Record, found: Found, outcome: Outcome) -> None:
    if not isinstance(n := leaf["n"], int):
        return
    if n != found.last + 1:
        found.report(outcome, "V214")
    elif not _is_head(leaf["head"], n - 1, found):
        found.report(outcome, "V213", n - 1)


def _check_close_leaf(leaf: Record, close: int | None, found: Found, outcome: Outcome) -> None:
    if not isinstance(n := leaf["n"], int):
        return
    if n != found.last + 1:
        found.report(outcome, "V214")
        return
    if not _is_head(leaf["head"], n - 1, found):
        found.report(outcome, "V213", n - 1)
    if close is not None and found.whole and leaf["root"] != found.records[close]["root"]:
        found.report(outcome, "V215")


def _check_close(close: int, found: Found, outcome: Outcome) -> None:
    """Hold a run.close against the events before it."""
    record = found.records[close]
    if record["n"] != close:
        found.report(outcome, "V214", close)
    if not _is_head(record["head"], close - 1, found):
        found.report(outcome, "V213", close)
    leaves = found.leaf_hashes(close)
    if found.whole and record["root"] != Tree(leaves).root(len(leaves)).hex():
        found.report(outcome, "V215", close)


def _check_end(closing: Record | None, found: Found, outcome: Outcome, *, known: bool) -> None:
    closes = [seq for seq, record in sorted(found.records.items()) if record["type"] == "run.close"]
    close = closes[0] if closes else None
    if closing is not None:
        _check_close_leaf(closing, close, found, outcome)
    if close is None:
        outcome.count("OPEN_RUN")
        return
    # a newer leaf may be the one that is missing, and makes the verdict INCOMPLETE only
    if not known:
        found.report(outcome, "V214", close)
    _check_close(close, found, outcome)
    for row in found.rows:
        if row.seq > close and row.seq not in found.newer:
            found.report(outcome, "V216", row.seq)


def _check_absence(found: Found, known: bool, outcome: Outcome, *, pruned: bool) -> None:
    if not pruned:
        if known:
            found.report(outcome, "V210")
    elif found.rows:
        found.report(outcome, "V217")
    else:
        outcome.count("RUNS_PRUNED")


def check_run(run: str, rows: Rows, log: Log, outcome: Outcome) -> Found:
    """Verify the events of one run and hold them against the log."""
    outcome.count("runs")
    found = check_events(run, rows, log, outcome)
    leaves = log.of_run(run)
    if log.is_pruned(run) or not found.rows:
        _check_absence(found, bool(leaves), outcome, pruned=log.is_pruned(run))
        return found
    imported = [leaf for _, leaf in leaves if leaf["type"] == "run.import"]
    if not imported:
        _check_tree_head(found, log, outcome)
    opening: Record | None = None
    closing: Record | None = None
    ends = [n for _, leaf in leaves if isinstance(n := leaf.get("n", 1), int)]
    found.promised = max(ends, default=0)
    for _, leaf in leaves:
        match leaf["type"]:
            case "run.import":
                _check_import_leaf(leaf, found, outcome)
            case "run.open" if imported:
                found.report(outcome, "V212", 0)
            case "run.open":
                opening = leaf
                _check_open_leaf(leaf, found, log, outcome)
            case "run.head":
                _check_head_leaf(leaf, found, outcome)
            case "run.close":
                closing = leaf
    if opening is None and not imported and not log.newer:
        found.report(outcome, "V211")
    _check_end(closing, found, outcome, known=bool(closing or imported or log.newer))
    below = [leaf.get("n", 1) for position, leaf in leaves if position < log.sealed]
    sealed = max((n for n in below if isinstance(n, int)), default=0)
    outcome.count("UNSEALED_TAIL", max(0, len(found.rows) - sealed))
    return found
