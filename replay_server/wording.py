"""The end report in words: what was found, line by line, and the verdict that is its last line."""

from collections.abc import Sequence
from dataclasses import dataclass

from replay_server import departures, paste
from replay_server.drift import Change, ranges
from replay_server.findings import Clients, Drifted, Findings
from replay_server.modes import Exit
from store.core.words import noun
from store.labels.describe import plural

LISTED_MAX = 20
CHANGES_LISTED_MAX = 5
TUNNELLED = "what was said there was tunnelled when this was recorded, so nothing of it can be answered"


@dataclass(frozen=True, slots=True)
class Ending:
    """How the agent and its confinement ended: its exit code, what tried to get out, whether anything could have.

    `allowed` are local ports that it was let reach.
    """

    agent_exit_code: int | None = None
    attempts: Sequence[str] = ()
    confined: bool = False
    allowed: Sequence[int] = ()


def _held(ending: Ending) -> str:
    if not ending.confined:
        return "UNCONFINED: the replay server opened 0 connections"
    ports = ", ".join(map(str, ending.allowed))
    return f"nothing could get out but to local port {ports}, as allowed" if ports else "nothing could get out"


def verdict(found: Findings, counts: dict[str, int], ending: Ending, code: int) -> str:
    """One sentence."""
    held = _held(ending)
    if found.fork is not None:
        held = departures.let_out(found.fork, confined=ending.confined)
    match code:
        case Exit.FAILED if found.failures:
            said = f"FAILED: {found.failures[0]}"
        case Exit.FAILED if found.unserved:
            said = f"NOT SERVED: {found.unserved[0].detail}{_more(len(found.unserved))}"
        case Exit.REFUSED if ending.attempts:
            said = f"REFUSED: {ending.attempts[0]}{_more(len(ending.attempts))}"
        case Exit.UNEXPECTED if found.fork is not None and found.unexpected and found.fork.mode != "fork":
            said = f"LEFT THE RECORDING at request {found.unexpected[0].number}: {found.unexpected[0].place}"
        case Exit.UNEXPECTED if found.unexpected:
            said = f"UNEXPECTED: {found.unexpected[0].place} is not in the recording{_more(counts['unexpected'])}"
        case Exit.UNEXPECTED if found.exhausted:
            said = f"EXHAUSTED: {found.exhausted[0].place} was asked for more often than recorded"
            said += _more(len(found.exhausted))
        case Exit.DRIFTED if found.drifts:
            said = f"DRIFTED at step {found.drifts[0].step}: {headline(found.drifts[0].changes[0])}"
            said += _more(len(found.drifts))
        case Exit.DRIFTED if found.reordered:
            first = found.reordered[0]
            said = f"REORDERED: step {first.step} was asked for before step {first.before}{_more(len(found.reordered))}"
        case Exit.NEVER_REQUESTED if found.never_requested:
            step, place = found.never_requested[0]
            said = f"NEVER REQUESTED: step {step}, {place}{_more(len(found.never_requested))}"
        case _:
            said = _calm(found, counts, ending)
    return f"{said}; {held}"


def _calm(found: Findings, counts: dict[str, int], ending: Ending) -> str:
    """The verdict where nothing is wrong."""
    if found.stopped_by_hand:
        return f"STOPPED by hand at step {found.stopped_at}"
    if found.fork is not None and (found.fork.mode != "fork" or found.fork.step is not None or found.fork.reached):
        return departures.headline(found.fork, ending.agent_exit_code)
    answered = counts["matched"] + counts["mapped"]
    said = f"REPLAYED: {_all(found.exchanges)}"
    if found.exchanges != answered:
        recorded, were = plural(found.exchanges, "recorded exchange"), "was" if answered == 1 else "were"
        said = f"REPLAYED: {answered} of {recorded} {were} asked for; the rest is optional"
    return said + (f"; the agent ended with {ending.agent_exit_code}" if ending.agent_exit_code else "")


def lines(found: Findings, clients: Clients, counts: dict[str, int], ending: Ending, stale: Sequence[str]) -> list[str]:
    """Everything but the verdict."""
    told = {name: count for name, count in counts.items() if count and name not in ("exchanges", "failed")}
    counted = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in told.items())
    exchanges = plural(found.exchanges, "recorded exchange")
    said = [f"  {exchanges}; {counted or 'nothing was asked for'}"]
    for drift in found.drifts[:LISTED_MAX]:
        said += drift_lines(drift)
    if found.stopped_at is not None:
        said.append(f"stopped at step {found.stopped_at}; what was not reached is not judged")
    said += [
        f"reordered: step {one.step} before step {one.before}, {one.place}" for one in found.reordered[:LISTED_MAX]
    ]
    for name, listed in (
        ("unexpected", found.unexpected),
        ("exhausted", found.exhausted),
        ("not served", found.unserved),
    ):
        said += [
            f"{name}: request {one.number}, {one.place}{one.detail and f' ({one.detail})'}"
            for one in listed[:LISTED_MAX]
        ]
    said += [f"never requested: step {step}, {place}" for step, place in found.never_requested[:LISTED_MAX]]
    said += [f"refused: {attempt}" for attempt in ending.attempts[:LISTED_MAX]]
    said += _client_lines(clients)
    aliases = list(found.aliases.values())
    said += [
        f"made up anew: {paste.line(one.recorded)} is now {paste.line(one.live)} ({plural(one.count, 'time')}, first at"
        f" step {one.step}, {paste.line(one.pointer)})"
        for one in aliases[:LISTED_MAX]
    ]
    if len(aliases) > LISTED_MAX:
        said.append(f"made up anew: {plural(len(aliases) - LISTED_MAX, 'more id')}; --json and --report list them all")
    if found.ignored:
        said.append("ignored by rule: " + ", ".join(f"{rule} ({count})" for rule, count in found.ignored.items()))
    if found.allowed:
        said.append("optional by rule: " + ", ".join(f"{rule} ({count})" for rule, count in found.allowed.items()))
    said += [f"stale rule, nothing needs it any more: {rule}" for rule in stale]
    if found.edited:
        said.append(f"answered otherwise by hand: step {ranges(found.edited)}")
    if found.hurried:
        said.append(f"told to wait for nothing, as asked (--no-wait): step {ranges(sorted(set(found.hurried)))}")
    if found.fork is not None:
        said += departures.lines(found.fork, LISTED_MAX)
    if found.local_tools:
        tools = ", ".join(f"{name} ({count})" for name, count in found.local_tools.items())
        said.append(f"the model asked for these tools, whose effects outside the network are the agent's own: {tools}")
    said += [f"failed: {failure}" for failure in found.failures[:LISTED_MAX]]
    return said


def drift_lines(drift: Drifted) -> list[str]:
    """One first cause as a person reads it."""
    lines = [f"drifted at step {drift.step}: {headline(drift.changes[0])}", f"  request:  {drift.place}"]
    for number, change in enumerate(drift.changes[:CHANGES_LISTED_MAX]):
        recorded, live = change.values
        if number:
            lines.append(f"  also:     {headline(change)}")
        if change.place != "secret":
            lines += [f"  recorded: {recorded}", f"  live:     {live}"]
        if change.rule:
            lines.append(f"  to allow: --ignore {paste.word(change.rule)}")
    if len(drift.changes) > CHANGES_LISTED_MAX:
        lines.append(f"  and {plural(len(drift.changes) - CHANGES_LISTED_MAX, 'more change')}")
    if drift.expected:
        lines.append(f"  expected: {drift.expected}")
    if drift.follows:
        follow = "follows" if len(drift.follows) == 1 else "follow"
        lines.append(f"  {noun(len(drift.follows), 'step')} {ranges(drift.follows)} {follow} from step {drift.step}")
    return lines


def _client_lines(clients: Clients) -> list[str]:
    said = (
        (clients.distrusted, "a client does not trust edgetape's authority"),
        (clients.h2_only, "a client insists on HTTP/2, which a replay does not speak"),
        (clients.silent, "a client closed its connection without a request, as some do that distrust the authority"),
    )
    lines = [
        f"{sentence}: {host} ({count}){'; ' + TUNNELLED if host in clients.tunnelled else ''}"
        for hosts, sentence in said
        for host, count in hosts.items()
    ]
    if clients.malformed:
        lines.append(f"not HTTP, or not well formed: {plural(clients.malformed, 'request')}")
    if clients.strangers:
        brought = plural(clients.strangers, "request")
        lines.append(f"not answered, for they brought no token and are not the agent's: {brought}")
    if clients.hung:
        lines.append(f"held open and then reset, as recorded: {plural(clients.hung, 'answer')}")
    return lines


def headline(change: Change) -> str:
    """One place that differs, in a line."""
    detail = f" ({change.detail})" if change.detail else ""
    return f"{change.kind}, {paste.line(change.where)}{detail}"


def _all(exchanges: int) -> str:
    if not exchanges:
        return "nothing was recorded, and nothing was asked for"
    if exchanges == 1:
        return "the one recorded exchange was asked for and answered"
    return f"all {exchanges} recorded exchanges were asked for and answered"


def _more(count: int) -> str:
    return f", and {count - 1} more" if count > 1 else ""
