"""Section 7: what runs say of one another (rule 15)."""

from collections.abc import Mapping

from tests.support.verifier.events import Found
from tests.support.verifier.hashes import genesis_prev
from tests.support.verifier.log import Log
from tests.support.verifier.outcome import Outcome


def check_family(runs: Mapping[str, Found], log: Log, outcome: Outcome) -> None:
    """Hold parents and children that were verified together, and are sound, against one another."""
    faulty = {finding.run for finding in outcome.findings}
    runs = {run: found for run, found in runs.items() if run not in faulty}
    for run, found in runs.items():
        parent = found.records[0].get("parent") if 0 in found.records else None
        if isinstance(parent, dict) and parent["run"] in runs:
            other, seq = runs[str(parent["run"])], parent["seq"]
            assert isinstance(seq, int)
            if parent["event_hash"] not in other.hashes.get(seq, set()):
                outcome.report("V220", run, 0)
        for seq, record in found.records.items():
            if record["type"] == "run.spawn":
                child = runs.get(str(record["child"]))
                if child is not None and 0 in child.records and not _is_child(run, record["genesis"], child, log):
                    outcome.report("V221", run, seq)


def _is_child(run: str, genesis: object, child: Found, log: Log) -> bool:
    parent = child.records[0].get("parent")
    if log.origin is not None and genesis != genesis_prev(log.origin_of(child.run), child.run):
        return False
    return isinstance(parent, dict) and parent["run"] == run
