"""Several runs side by side: what each cost, which tools it asked for, and where it first went another way.

The JSON (schema `edgetape/compare/1`) is one object: {schema, runs}; a run is {id, name, mode, variant, outcome,
exit_code, steps, model_calls, tokens_in, tokens_out, model_us, took_us, tools, first_divergence, other_words}. The
first run is what the others are held against; of it the last two are null. first_divergence is null, or {step, of,
here, there}: its step, that of the first run (null where one has ended), and what was done there in words. other_words
says whether the last answer of a model reads otherwise. Tokens are null where no model counted them; times are
microseconds, took_us null of an open run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from proxy.commands.runs import distinct
from proxy.views.comparing import sides
from proxy.words import duration, folded, microseconds_between, printable
from replay_server.alignment import Side
from replay_server.normalise import Rules
from store.core.errors import EdgetapeError
from store.core.jsontext import shown
from store.core.model import RunOpen, Verdict
from store.reader import Reader, RunInfo

SCHEMA = "edgetape/compare/1"
VARIANT = "variant"  # the label of a run that says which one it is
MODEL_RULES = ("body /model", "path model")  # another model is what is compared, not where it differs
HEADS = ("run", "variant", "outcome", "steps", "calls", "in", "out", "model time", "took", "tools", "first divergence")
NUMBERS = (3, 4, 5, 6, 7, 8)
_WENT_THROUGH = ("COMPARED", "SANDBOXED", "REPLAYED", "FORKED")  # then how the agent ended says more
_WORDS_MAX = 60
_IN = frozenset(
    (
        "prompt_tokens", "input_tokens", "inputTokens", "promptTokenCount", "prompt_eval_count",
        "cache_read_input_tokens", "cache_creation_input_tokens", "cacheReadInputTokens", "cacheWriteInputTokens",
    )
)  # fmt: skip
_OUT = frozenset(
    ("completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount", "responseTokenCount", "eval_count")
)


@dataclass(frozen=True, slots=True)
class Act:
    """What a run did at a step: `words` for people, `what` is equal for the same act."""

    step: int
    what: object
    words: str


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first act that differs: its step here and there, None where one has none left."""

    step: int | None
    of: int | None
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class Branch:
    """One run of the comparison."""

    info: RunInfo
    variant: str
    outcome: str
    sides: Sequence[Side] = field(repr=False)

    @property
    def spoken(self) -> list[Side]:
        """The steps that are with models."""
        return [side for side in self.sides if "text" in side.answer]

    @property
    def asked(self) -> int:
        """How often a model was asked."""
        return sum(side.times for side in self.spoken)

    @property
    def tools(self) -> list[str]:
        """The tools that the models asked for, in order."""
        return [name for side in self.spoken for name, _ in _calls(side)]

    @property
    def last_words(self) -> str:
        """What a model said last."""
        return next((str(side.answer["text"]) for side in reversed(self.spoken) if side.answer["text"]), "")

    def tokens(self, names: frozenset[str]) -> int | None:
        """What the models counted under these names, None where none did."""
        counted = [count for side in self.sides for name, count in side.tokens.items() if name in names]
        return sum(counted) if counted else None

    @property
    def took_us(self) -> int | None:
        """From the beginning of the run to its end."""
        return microseconds_between(self.info.opened, self.info.closed) if self.info.closed else None


def branch(reader: Reader, info: RunInfo, rules: Rules) -> Branch:
    """One run, read."""
    variant, outcome = "", ""
    for event in reader.events(info.id):
        match event.facts:
            case RunOpen(labels=labels):
                told = ((reader.text(event, key), reader.text(event, value)) for key, value in labels or ())
                variant = next((text.decode("utf-8", "replace") for key, text in told if key == VARIANT.encode()), "")
            case Verdict(verdict=said):
                try:
                    outcome = reader.text(event, said).decode("utf-8", "replace").partition(";")[0]
                except EdgetapeError:
                    outcome = "(erased)"
    if outcome.startswith(_WENT_THROUGH):
        outcome = ""
    ended = "still open" if not info.closed else f"ended with {info.exit_code}" if info.exit_code is not None else ""
    return Branch(info, variant or info.mode, outcome or ended or str(info.reason), sides(reader, info, rules))


def divergence(first: Branch, other: Branch) -> Divergence | None:
    """Where `other` first did something else than `first`; words do not count, what was asked for does."""
    for there, here in zip_longest(_acts(first), _acts(other)):
        if there is None or here is None or there.what != here.what:
            return Divergence(
                here.step if here else None,
                there.step if there else None,
                here.words if here else "nothing more",
                there.words if there else "nothing more",
            )
    return None


def _acts(branch: Branch) -> Iterator[Act]:
    """What the models decided; of a run without models, what was asked for."""
    spoken = branch.spoken
    if not spoken:
        yield from (Act(side.step, side.key, side.place) for side in branch.sides)
    for side in spoken:
        calls = _calls(side)
        words = ", ".join(f"{name}({arguments})" for name, arguments in calls)
        yield Act(side.step, calls, f"asked for {words}" if calls else "answered in words")


def _calls(side: Side) -> list[tuple[str, str]]:
    calls = side.answer.get("calls")
    listed = calls if isinstance(calls, list) else []
    return [(str(call["name"]), shown(call["arguments"])) for call in listed if isinstance(call, dict)]


def document(branches: Sequence[Branch]) -> dict[str, object]:
    """The comparison as JSON."""
    return {"schema": SCHEMA, "runs": [_record(branches[0], one) for one in branches]}


def _record(first: Branch, one: Branch) -> dict[str, object]:
    found = None if one is first else divergence(first, one)
    apart = None if found is None else {"step": found.step, "of": found.of, "here": found.here, "there": found.there}
    return {
        "id": one.info.id,
        "name": one.info.name or None,
        "mode": one.info.mode,
        "variant": one.variant,
        "outcome": one.outcome,
        "exit_code": one.info.exit_code,
        "steps": one.info.steps,
        "model_calls": one.asked,
        "tokens_in": one.tokens(_IN),
        "tokens_out": one.tokens(_OUT),
        "model_us": sum(side.took_us for side in one.spoken),
        "took_us": one.took_us,
        "tools": one.tools,
        "first_divergence": apart,
        "other_words": None if one is first else one.last_words != first.last_words,
    }


def rows(branches: Sequence[Branch]) -> list[tuple[str, ...]]:
    """The comparison as a table under HEADS."""
    width = distinct([one.info for one in branches])
    return [_row(branches[0], one, width) for one in branches]


def _row(first: Branch, one: Branch, width: int) -> tuple[str, ...]:
    cells = (
        one.info.name or one.info.id[:width],
        one.variant,
        one.outcome,
        f"{one.info.steps:,}",
        f"{one.asked:,}",
        *("-" if counted is None else f"{counted:,}" for counted in (one.tokens(_IN), one.tokens(_OUT))),
        duration(sum(side.took_us for side in one.spoken)),
        "" if one.took_us is None else duration(one.took_us),
        folded(" ".join(one.tools), _WORDS_MAX),
        "" if one is first else _said(first, one),
    )
    return tuple(printable(cell, one_line=True) for cell in cells)


def _said(first: Branch, one: Branch) -> str:
    found = divergence(first, one)
    if found is None:
        return "none; other words" if one.last_words != first.last_words else "none"
    where = f"step {found.step}" if found.step is not None else "its end"
    there = "" if found.of is None else f" (step {found.of}: {folded(found.there, _WORDS_MAX)})"
    return f"{where}: {folded(found.here, _WORDS_MAX)}{there}"
