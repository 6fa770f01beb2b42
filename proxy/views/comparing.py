"""Two recordings made ready for the comparison, and the comparison as JSON (schema `edgetape/diff/1`) and in words.

The JSON is one object: {schema, a, b, counts, steps}; a and b are {id, name, steps, tokens, took_us}; counts are {same,
changed, moved, inserted, removed, answers}; steps are those that differ, each {kind, a, b, request, changes, follows,
answer}: a and b are steps or null, changes as in a replay's report, answer a list of {pointer, a, b}.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from proxy.views.answer import answer_of, counted
from proxy.views.spoken import spoken
from proxy.words import count, duration, printable
from replay_server.alignment import Entry, Side, align
from replay_server.answer import Recorded
from replay_server.drift import ranges
from replay_server.normalise import Rules
from replay_server.report import change_document
from replay_server.tape import Refusal, Tape
from store.core.compare import Difference, folded
from store.core.errors import Malformed
from store.core.form import Asked, Endpoint, content, first
from store.core.jsontext import Node, Octets, opened, parse
from store.core.words import noun
from store.labels.dialect import Answer
from store.reader import Reader, RunInfo

SCHEMA = "edgetape/diff/1"
CHANGES_LISTED_MAX = 5
_SPENT = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
_NOWHERE = Endpoint("GET", "", "", 0, b"")
_SIGNS = {"same": "=", "changed": "~", "moved": ">", "inserted": "+", "removed": "-"}


def compared(reader: Reader, a: RunInfo, b: RunInfo, rules: Rules) -> list[Entry]:
    """Every step of both runs."""
    return align(sides(reader, a, rules), sides(reader, b, rules))


def sides(reader: Reader, run: RunInfo, rules: Rules) -> list[Side]:
    """The exchanges of a run, as they are compared."""
    tape = Tape(reader, run, rules)
    return [_side(reader, tape, index) for index in range(len(tape.exchanges))]


def _side(reader: Reader, tape: Tape, index: int) -> Side:
    exchange = tape.exchanges[index]
    response, talk = exchange.response, spoken(exchange, reader) if exchange.messages else None
    said = talk.answer if talk is not None else answer_of(reader, exchange)
    usage = talk.usage if talk is not None else counted(response)
    took_us = talk.took_us if talk is not None else (response.total_us or 0) if response else 0
    answer = _answer(tape.outcome(index), said)
    times = talk.times if talk is not None else 1
    return Side(tape.step(index), tape.place(index), tape.form(index), answer, usage, took_us, times)


def _answer(outcome: Recorded | str | Refusal, said: Answer | None) -> dict[str, Node]:
    """What came back: of a model what it said, of anything else the body; of a failure its kind."""
    match outcome:
        case str():
            return {"failed": outcome}
        case Refusal(reason):
            return {"unknown": reason}
    told: dict[str, Node] = {"status": str(outcome.status)}
    if said is None:
        return told | {"body": _body(outcome)}
    calls: list[Node] = [{"name": call.name, "arguments": _opened(call.arguments)} for call in said.calls]
    return told | {"text": said.text} | ({"calls": calls} if calls else {})


def _body(answer: Recorded) -> Node:
    raw = content(Asked(_NOWHERE, headers=answer.headers, body=answer.body))
    text = _opened(raw.decode("utf-8", "replace"))
    binary = first(answer.headers, b"content-type").partition(b"/")[0] in (b"image", b"audio", b"video")
    return Octets.of(raw) if binary else text


def _opened(text: str) -> Node:
    try:
        return opened(parse(text))
    except Malformed:
        return text


def document(a: RunInfo, b: RunInfo, entries: Sequence[Entry]) -> dict[str, object]:
    """The comparison as JSON."""
    return {
        "schema": SCHEMA,
        "a": _run(a, [entry.a for entry in entries]),
        "b": _run(b, [entry.b for entry in entries]),
        "counts": counts(entries),
        "steps": [_entry(entry) for entry in entries if entry.differs],
    }


def counts(entries: Sequence[Entry]) -> dict[str, int]:
    """How many steps of each kind, and how many answers differ."""
    kinds = Counter(str(entry.kind) for entry in entries)
    return {**{kind: kinds[kind] for kind in _SIGNS}, "answers": sum(bool(entry.answer) for entry in entries)}


def _run(run: RunInfo, told: Sequence[Side | None]) -> dict[str, object]:
    return {"id": run.id, "name": run.name or None, "steps": run.steps, "tokens": tokens(told), "took_us": took(told)}


def tokens(told: Sequence[Side | None]) -> dict[str, int]:
    """What the models counted in all steps, under the providers' names."""
    total: Counter[str] = Counter()
    for side in told:
        total.update(side.tokens if side is not None else {})
    return dict(total)


def took(told: Sequence[Side | None]) -> int:
    """How long all answers took, microseconds."""
    return sum(side.took_us for side in told if side is not None)


def _entry(entry: Entry) -> dict[str, object]:
    side = entry.b or entry.a
    return {
        "kind": entry.kind,
        "a": None if entry.a is None else entry.a.step,
        "b": None if entry.b is None else entry.b.step,
        "request": "" if side is None else side.place,
        "changes": [change_document(change) for change in entry.request],
        "follows": entry.follows,
        "answer": [dict(zip(("pointer", "a", "b"), _told(found), strict=True)) for found in entry.answer],
    }


def _told(found: Difference) -> tuple[str, str, str]:
    return found.pointer + (f"#{found.inside}" if found.inside else ""), *folded(found.recorded, found.live)


def lines(entries: Sequence[Entry]) -> Iterator[str]:
    """The comparison for people; steps that are the same are counted."""
    same: list[int] = []
    for entry in entries:
        if entry.differs:
            yield from _same(same)
            same = []
            yield from _lines(entry)
        elif entry.a is not None:
            same.append(entry.a.step)
    yield from _same(same)


def _same(steps: list[int]) -> Iterator[str]:
    if steps:
        yield f"= {noun(len(steps), 'step')} {ranges(steps)}: the same"


def _lines(entry: Entry) -> Iterator[str]:
    a, b = entry.a, entry.b
    side = b or a
    assert side is not None
    where = " / ".join(str(one.step) if one is not None else "-" for one in (a, b))
    what = {"inserted": " only in B", "removed": " only in A", "moved": " moved"}.get(entry.kind, "")
    sign = _SIGNS["changed" if entry.kind == "same" else entry.kind]
    yield printable(f"{sign} step {where}{what}: {side.place}", one_line=True)
    if entry.follows is not None:
        yield f"    the request differs as that of step {entry.follows} does"
    for change in entry.request[:CHANGES_LISTED_MAX]:
        detail = f" ({change.detail})" if change.detail else ""
        yield printable(f"    request: {change.kind}, {change.where}{detail}", one_line=True)
        yield from _both(*change.values)
    for found in entry.answer[:CHANGES_LISTED_MAX]:
        pointer, left, right = _told(found)
        yield printable(f"    answer: {pointer or 'all of it'}", one_line=True)
        yield from _both(left, right)
    more = max(0, len(entry.request) - CHANGES_LISTED_MAX) + max(0, len(entry.answer) - CHANGES_LISTED_MAX)
    if more:
        yield f"    and {count(more, 'more change')}"


def _both(left: str, right: str) -> Iterator[str]:
    yield printable(f"      A: {left}", one_line=True)
    yield printable(f"      B: {right}", one_line=True)


def summary(entries: Sequence[Entry]) -> str:
    """One sentence: how many of each, and what it cost on either side."""
    told = counts(entries)
    said = [f"{number} {kind}" for kind, number in told.items() if number and kind != "answers"]
    said += [f"{count(told['answers'], 'other answer')}"] if told["answers"] else []
    costs = []
    for name, sides_ in (("A", [entry.a for entry in entries]), ("B", [entry.b for entry in entries])):
        spent = sum(number for kind, number in tokens(sides_).items() if kind.rpartition(".")[2] in _SPENT)
        costs.append(f"{name} {count(spent, 'token')}, {duration(took(sides_))}")
    return f"{', '.join(said) or 'nothing was recorded'}; {'; '.join(costs)}"
