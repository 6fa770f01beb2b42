"""What people said about a run, in words: a line, and the text beneath it. Pure."""

from collections.abc import Iterator, Sequence

from proxy.border import Misuse
from proxy.words import count, folded, moment, printable
from store.annotations import Said
from store.exchange import Step

INDENT = "    "
SHORT_CHARS_MAX = 160


def event_of(happened: Sequence[Step], number: int) -> int:
    """The seq of the event by which a step is counted."""
    return _step(happened, number)[0]


def about(said: Sequence[Said], happened: Sequence[Step], number: int) -> list[Said]:
    """What was said about the events of one step."""
    seqs = _step(happened, number)
    return [each for each in said if each.facts.seq in seqs]


def numbered(said: Sequence[Said], happened: Sequence[Step]) -> list[dict[str, object]]:
    """As --json prints them, each with the step that it is about."""
    steps = _steps(happened)
    return [{**each.record(), "step": steps.get(each.facts.seq)} for each in said]


def pairs(said: Sequence[Said], happened: Sequence[Step]) -> list[tuple[str, str]]:
    """Each as a line about it, and its text whole."""
    steps = _steps(happened)
    return [(_head(each, steps), _text(each)) for each in said]


def lines(said: Sequence[Said], happened: Sequence[Step]) -> Iterator[str]:
    """The same for a terminal."""
    for head, text in pairs(said, happened):
        yield head
        yield from (f"{INDENT}{line}" for line in text.split("\n"))


def short(said: Sequence[Said], happened: Sequence[Step]) -> Iterator[str]:
    """Each in a line; those that were corrected are only counted."""
    steps = _steps(happened)
    for each in said:
        if each.superseded is None:
            text = folded(" ".join(_text(each).split("\n")), SHORT_CHARS_MAX)
            yield f"{_head(each, steps)}: {text}"
    corrected = sum(each.superseded is not None for each in said)
    if corrected:
        yield f"{count(corrected, 'annotation')} corrected by later ones"


def _head(said: Said, steps: dict[int, int]) -> str:
    place, facts = said.place, said.facts
    step = f"step {steps[facts.seq]}, event {facts.seq}" if facts.seq in steps else f"event {facts.seq}"
    where = "the run" if facts.seq == 0 else step
    corrects = "" if facts.supersedes is None else f", corrects {facts.supersedes}"
    corrected = "" if said.superseded is None else f", corrected by {said.superseded}"
    who = printable(facts.by, one_line=True)
    kind = printable(facts.kind, one_line=True)
    return f"{place.number} on {where}: {kind} by {who}, {moment(place.ts)}{corrects}{corrected}"


def _text(said: Said) -> str:
    return f"({said.missing})" if said.text is None else printable(said.text)


def _steps(happened: Sequence[Step]) -> dict[int, int]:
    """The number of the step that each event belongs to."""
    return {event.seq: step.step for step in happened if step.step is not None for event in step.events}


def _step(happened: Sequence[Step], number: int) -> list[int]:
    for step in happened:
        if step.step == number:
            return [event.seq for event in step.events]
    raise Misuse(f"the run has no step {number}", hint="`edgetape show RUN` lists its steps")
