"""What a replay or a fork has written of itself: its verdict in words, and its whole report."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from proxy.words import shown
from store.core.errors import EdgetapeError
from store.core.model import Verdict
from store.exchange import Happening, Step
from store.reader import Reader


@dataclass(frozen=True, slots=True)
class Judgement:
    """The sentence, the exit code, and the report as it was written (`edgetape/replay-report/1`), None when erased."""

    words: str
    exit_code: int
    report: object | None


def judgement(reader: Reader, happened: Sequence[Step]) -> Judgement | None:
    """The judgement of a run; None for a run that judges nothing."""
    for step in happened:
        if isinstance(step, Happening) and isinstance(step.event.facts, Verdict):
            facts = step.event.facts
            try:
                words = shown(reader.text(step.event, facts.verdict))
                report: object = json.loads(reader.body(step.event, facts.report))
            except (EdgetapeError, ValueError):
                return Judgement("(erased)", facts.exit_code, None)
            return Judgement(words, facts.exit_code, report)
    return None
