"""The end report of a replay, as text and as JSON (schema `edgetape/replay-report/1`), and its verdict in words.

The JSON is one object:

- schema, verdict (a sentence), exit_code, agent_exit_code (null when the agent was not run or is not known)
- run, replay: {id, name} of what was replayed, {id} of the replay's own run
- counts: exchanges, requests, matched, mapped, optional, repeated, messages, drifted, reordered, unexpected, exhausted,
  never_requested, refused, unserved, after_stop, local_tunnels, failed; each a number
- stopped_at: the step whose drift, or a person, ended the replay, or null; edited: steps that a person answered
  otherwise; hurried: steps whose answer said to wait, and was served without that (--no-wait)
- drifted: first causes, each {step, seq, request, kind, detail, place, pointer, inside, recorded, live, rule, expected,
  changes: the same members for each further change of that request, follows: [steps]}
- reordered: {step, before, request}; unexpected, exhausted, unserved: {request, number, nearest, detail}; number
  counts the agent's requests from 1
- never_requested: {step, request}; always empty when stopped_at is set
- mapped: the ids that the agent made up anew, each {step, pointer, recorded, live, count}: where it was met first,
  both values as JSON text, how often; ids of JSON-RPC messages are told together by their place
- refused: what tried to get out past the replay server, in words
- confinement: "confined" or "unconfined"; upstream_connections: 0, but in a live mode
- fork: null in a replay; else of a live mode {mode, step, said, reached, stubbed, live, withheld, children,
  missing_children}: mode is fork, compare or sandbox; step the fork's, else null; live are requests that went out,
  each {step, request, effect, idempotency_key, status, receipt, failure}; withheld are {step, request, why, rule};
  their step is that of the new run; stubbed counts answers from the recording once it was left; refused counts
  withheld, too; children are the ids of the new child runs by their names, missing_children the names of recorded
  ones that none stood for
- clients: {distrusted, silent, h2_only: {host: connections}, malformed, hung, strangers}
- ignored: {rule: places taken out}; allowed: {rule: optional requests}; a rule that came with edgetape has its agent's
  name before it, agent_rules is the version of those
- stale_rules: the user's rules that nothing in the recording or the replay needed; local_tools: {tool: times asked for}
- failures: our own, in words
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from replay_server import agents, departures
from replay_server.departures import Json
from replay_server.drift import Change
from replay_server.findings import Clients, Drifted, Findings, Missed
from replay_server.modes import exit_code
from replay_server.wording import Ending, lines, verdict

SCHEMA = "edgetape/replay-report/1"


@dataclass(frozen=True, slots=True)
class Report:
    """A finished report."""

    document: dict[str, Json]
    counts: dict[str, int]
    verdict: str
    exit_code: int
    lines: tuple[str, ...]

    def json(self) -> str:
        """The document, indented."""
        return json.dumps(self.document, ensure_ascii=False, indent=2)

    def text(self) -> str:
        """For people; the verdict is the last line."""
        return "\n".join((*self.lines, self.verdict))


def report(
    names: tuple[str, str, str], found: Findings, clients: Clients, ending: Ending, rules: Sequence[str]
) -> Report:
    """The report of a replay. `names` are the replayed run's id and name, and the id of the replay's own run."""
    counts = _counts(found, clients, ending)
    code = exit_code(counts, ending.agent_exit_code)
    said = verdict(found, counts, ending, code)
    run, name, replay = names
    stale = [rule for rule in rules if rule not in found.ignored and rule not in found.allowed]
    document: dict[str, Json] = {
        "schema": SCHEMA,
        "verdict": said,
        "exit_code": code,
        "agent_exit_code": ending.agent_exit_code,
        "run": {"id": run, "name": name},
        "replay": {"id": replay},
        "counts": dict(counts),
        "stopped_at": found.stopped_at,
        "edited": list(found.edited),
        "hurried": list[Json](sorted(set(found.hurried))),
        "drifted": [drift_document(drift) for drift in found.drifts],
        "reordered": [{"step": one.step, "before": one.before, "request": one.place} for one in found.reordered],
        "unexpected": [missed_document(one) for one in found.unexpected],
        "exhausted": [missed_document(one) for one in found.exhausted],
        "unserved": [missed_document(one) for one in found.unserved],
        "never_requested": [{"step": step, "request": place} for step, place in found.never_requested],
        "refused": list(ending.attempts),
        "confinement": "confined" if ending.confined else "unconfined",
        "upstream_connections": found.fork.connections if found.fork else 0,
        "fork": departures.document(found.fork) if found.fork else None,
        "clients": {
            "distrusted": dict(clients.distrusted),
            "silent": dict(clients.silent),
            "h2_only": dict(clients.h2_only),
            "malformed": clients.malformed,
            "hung": clients.hung,
            "strangers": clients.strangers,
        },
        "mapped": [
            {"step": one.step, "pointer": one.pointer, "recorded": one.recorded, "live": one.live, "count": one.count}
            for one in found.aliases.values()
        ],
        "ignored": dict(found.ignored),
        "allowed": dict(found.allowed),
        "agent_rules": agents.version(),
        "stale_rules": list(stale),
        "local_tools": dict(found.local_tools),
        "failures": list(found.failures),
    }
    mode = found.fork.mode if found.fork else "replay"
    told = (f"{mode} of {name or 'run'} {run}", *lines(found, clients, counts, ending, stale))
    return Report(document, counts, said, int(code), told)


def drift_document(drift: Drifted) -> dict[str, Json]:
    """One first cause."""
    first, *rest = [change_document(change) for change in drift.changes]
    further: list[Json] = list(rest)
    return {
        "step": drift.step,
        "seq": drift.seq,
        "request": drift.place,
        **first,
        "expected": drift.expected,
        "changes": further,
        "follows": list(drift.follows),
    }


def _counts(found: Findings, clients: Clients, ending: Ending) -> dict[str, int]:
    return {
        "exchanges": found.exchanges,
        "requests": found.requests,
        "matched": found.matched,
        "mapped": found.mapped,
        "optional": found.optional,
        "repeated": found.repeated,
        "messages": found.messages,
        "drifted": found.drifted_requests,
        "reordered": len(found.reordered),
        "unexpected": len(found.unexpected),
        "exhausted": len(found.exhausted),
        "never_requested": len(found.never_requested),
        "refused": len(ending.attempts) + (len(found.fork.withheld) if found.fork else 0),
        "unserved": len(found.unserved),
        "after_stop": found.after_stop,
        "local_tunnels": clients.local_tunnels,
        "failed": len(found.failures),
    }


def change_document(change: Change) -> dict[str, Json]:
    """One place that differs."""
    recorded, live = change.values
    return {
        "kind": str(change.kind),
        "detail": change.detail,
        "place": change.place,
        "pointer": change.pointer,
        "inside": change.inside,
        "recorded": recorded,
        "live": live,
        "rule": change.rule,
    }


def missed_document(missed: Missed) -> dict[str, Json]:
    """One request without an answer."""
    return {"request": missed.place, "number": missed.number, "nearest": missed.nearest, "detail": missed.detail}
