"""Holds a run against the store log: its beginning, its heads, its end (docs/format.md, section 7, rule 5); pure."""

from store.core import digest, leaf
from store.core.model import LogPoint
from store.verify.chain import Walk
from store.verify.ledger import Commitment, Ledger
from store.verify.verdict import Tally


def check(found: Walk, log: Ledger) -> None:
    """Checks one run that has events, or that the log knows."""
    committed = log.runs.get(found.run)
    if not found.count or (committed is not None and committed.pruned):
        _check_absence(found, committed)
        return
    committed = committed or Commitment()
    if found.close is None:
        found.tally.counts["OPEN_RUN"] += 1
    else:
        _check_close(found, known=bool(committed.closed or committed.imported or log.newer))
    if committed.imported is not None:
        _check_imported(found, committed.imported, opened_here=committed.opened is not None)
    elif committed.opened is not None:
        _check_opened(found, committed.opened, log)
    elif not log.newer:
        found.find("V211", "the log has no run.open for it")
    for events, head in committed.heads:
        if not found.is_head(head, events - 1):
            found.find("V213", f"the log committed to another event {events - 1}", events - 1)
    if committed.closed is not None:
        _check_closed(found, committed.closed)
    for seq in found.after:
        found.find("V216", "the run was closed before", seq)


def _check_absence(found: Walk, committed: Commitment | None) -> None:
    if committed is None:
        return
    if not committed.pruned:
        found.find("V210", "the log knows the run, the store has none of its events")
    elif found.count:
        found.find("V217", "the log says that it was pruned, its events are there")
    else:
        found.tally.counts["RUNS_PRUNED"] += 1


def check_point(run: str, point: LogPoint | None, log: Ledger, tally: Tally) -> None:
    """Checks the log as the run.open of a run says that it was."""
    if point is None:
        return
    if point.size > log.length:
        tally.find("V402", f"the run began when the log had {point.size} leaves", run, 0)
    elif log.confirms(point.size, bytes.fromhex(point.root)) is False:
        tally.find("V403", f"the run began when the first {point.size} leaves had another root", run, 0)


def _check_opened(found: Walk, opened: leaf.RunOpened, log: Ledger) -> None:
    foreign = log.origin is not None and opened.genesis != digest.genesis_prev(log.origin, found.run).hex()
    if foreign or not found.is_head(opened.head, 0):
        found.find("V212", "the log committed to another beginning", 0)


def _check_imported(found: Walk, imported: leaf.RunImported, *, opened_here: bool) -> None:
    """A run that came in a bundle: all of it stood below a checkpoint of the store that it is from."""
    if opened_here:
        found.find("V212", "the log says that it began here, and that it was imported", 0)
    if imported.n != found.last + 1:
        found.find("V214", f"it was imported with {imported.n} events, there are {found.last + 1}")
    elif not found.is_head(imported.head, imported.n - 1):
        found.find("V213", f"another event {imported.n - 1} was imported", imported.n - 1)


def _check_closed(found: Walk, closed: leaf.RunClosed) -> None:
    if closed.n != found.last + 1:
        found.find("V214", f"the log closed it with {closed.n} events, there are {found.last + 1}")
        return
    if not found.is_head(closed.head, closed.n - 1):
        found.find("V213", f"the log committed to another event {closed.n - 1}", closed.n - 1)
    if found.close is not None and found.whole and closed.root != found.close[1].root:
        found.find("V215", "the log states another root than the run itself")


def _check_close(found: Walk, *, known: bool) -> None:
    assert found.close is not None
    seq, closed, root = found.close
    if not known:
        found.find("V214", "the run is closed, the log does not know of it", seq)
    if closed.n != seq:
        found.find("V214", f"run.close counts {closed.n} events before it, there are {seq}", seq)
    if not found.is_head(closed.head, seq - 1):
        found.find("V213", "run.close names another head than the event before it", seq)
    if found.whole and closed.root != root.hex():
        found.find("V215", "run.close states another root than its events give", seq)
