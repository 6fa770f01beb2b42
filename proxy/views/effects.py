"""What a run did to the outside world: its effects, their receipts, and which were done twice.

Rules kept here:
- An effect is a request that does not only read: to a tool, or a model request with tools at the provider.
- Committed is what had a good outcome; open is what had none that tells (a failure, a cut, a 5xx); refused is a 4xx.
- Two requests are the same effect when they have the same idempotency key, or the same bytes but for ids made up anew.
- The same effect again is a retry where the key is the same, or nothing was committed before; else it is a duplicate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from replay_server.minted import blanked
from replay_server.normalise import Rules
from replay_server.tape import Tape
from store.core.errors import EdgetapeError
from store.core.text import Text
from store.exchange import Exchange
from store.reader import Reader, RunInfo

type Outcome = Literal["committed", "open", "refused", "not done"]
type Relation = Literal["", "retry", "duplicate"]

_UNREAL = ("replay", "sandbox")  # answered by a recording, or by fakes
_PARTLY_LIVE = ("fork", "compare")
_GOOD, _CLIENT_FAULT, _SERVER_FAULT = 200, 400, 500


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect: `identity` is equal for the same effect; `of` is the step that it repeats."""

    step: int
    kind: str
    what: str
    outcome: Outcome
    status: int | None
    receipt: str | None
    key: str | None
    identity: bytes
    relation: Relation = ""
    of: int | None = None


def effects(reader: Reader, run: RunInfo) -> list[Effect]:
    """The effects of a run, in order, each told apart from its repeats. Of a replay nothing was done."""
    tape = Tape(reader, run, Rules())
    found = (_effect(reader, tape, index, run.mode) for index in range(len(tape.exchanges)))
    return related([effect for effect in found if effect is not None])


def related(told: Sequence[Effect]) -> list[Effect]:
    """The same with retries and duplicates named."""
    seen: list[Effect] = []
    for effect in told:
        before = [one for one in seen if _is_same(one, effect)]
        seen.append(_repeated(effect, before) if before and effect.outcome != "not done" else effect)
    return seen


def _repeated(effect: Effect, before: Sequence[Effect]) -> Effect:
    by_key = effect.key is not None and any(one.key == effect.key for one in before)
    done = any(one.outcome == "committed" for one in before)
    twice = done and not by_key and effect.outcome == "committed"
    return replace(effect, relation="duplicate" if twice else "retry", of=before[0].step)


def _is_same(one: Effect, other: Effect) -> bool:
    return one.identity == other.identity or (one.key is not None and one.key == other.key and one.what == other.what)


def _effect(reader: Reader, tape: Tape, index: int, mode: str) -> Effect | None:
    exchange = tape.exchanges[index]
    facts, response = exchange.facts, exchange.response
    if facts.boundary != "effect" or facts.effect in (None, "read") or facts.kind in ("auth", "telemetry"):
        return None
    tool = _text(reader, exchange, facts.tool)
    what = f"{tool}: {tape.place(index)}" if tool else tape.place(index)
    receipt = _answer_text(reader, exchange, response.receipt) if response is not None else None
    return Effect(
        step=tape.step(index),
        kind="write" if facts.effect == "unknown" else facts.effect or "write",
        what=what,
        outcome=_outcome(exchange, mode),
        status=response.status if response is not None else None,
        receipt=receipt,
        key=_text(reader, exchange, facts.idempotency_key),
        identity=blanked(tape.form(index)).key,
    )


def _outcome(exchange: Exchange, mode: str) -> Outcome:
    response = exchange.response
    if mode in _UNREAL or (mode in _PARTLY_LIVE and response is not None and response.upstream is None):
        return "not done"
    if response is None or response.ended != "complete" or response.status >= _SERVER_FAULT:
        return "open"
    return "committed" if _GOOD <= response.status < _CLIENT_FAULT else "refused"


def _text(reader: Reader, exchange: Exchange, value: Text | None) -> str | None:
    try:
        return None if value is None else reader.text(exchange.request, value).decode("utf-8", "replace")
    except EdgetapeError:
        return "(erased)"


def _answer_text(reader: Reader, exchange: Exchange, value: Text | None) -> str | None:
    if exchange.outcome is None or value is None:
        return None
    try:
        return reader.text(exchange.outcome, value).decode("utf-8", "replace")
    except EdgetapeError:
        return "(erased)"


def words(effect: Effect) -> Iterator[str]:
    """What there is to say of a repeat."""
    if effect.relation:
        yield f"{effect.relation} of step {effect.of}"
    if effect.key:
        yield f"key {effect.key}"
