"""What a live mode let out and what it held back, in words and as JSON."""

from replay_server import paste
from replay_server.findings import Forked, Gone, Withheld

type Json = dict[str, Json] | list[Json] | str | int | bool | None


_DONE = {"compare": "COMPARED", "sandbox": "SANDBOXED"}


def headline(fork: Forked, agent_exit_code: int | None) -> str:
    """The verdict on a live mode that went as it was meant to, or that held something back."""
    if fork.withheld:
        held = fork.withheld[0]
        more = f", and {len(fork.withheld) - 1} more" if len(fork.withheld) > 1 else ""
        return f"REFUSED at step {held.step}: {held.place} was not let out{more}"
    said = f" ({fork.said})" if fork.said else ""
    if fork.mode in _DONE:
        return f"{_DONE[fork.mode]}{said}: the agent ended with {agent_exit_code or 0}"
    ended = f"; the agent ended with {agent_exit_code}" if agent_exit_code else ""
    return f"FORKED at {'its misses' if fork.step is None else f'step {fork.step}'}{said}{ended}"


def let_out(fork: Forked, *, confined: bool) -> str:
    """The end of the verdict: how much went live."""
    after = " after it" if fork.step is not None else ""
    said = f"{len(fork.live)} live, {fork.stubbed} from the recording{after}"
    return f"{said}; {'nothing else could get out' if confined else 'UNCONFINED: the agent could reach more'}"


def lines(fork: Forked, listed_max: int) -> list[str]:
    """Each request that went live, and each that was held back with the rule that would let it out."""
    said = [_went(gone) for gone in fork.live[:listed_max]]
    if fork.live:
        said.append("what went live was asked today, not at the time of the recording")
    for held in fork.withheld[:listed_max]:
        said.append(f"refused: step {held.step}, {held.place}: {held.why}")
        said += [f"  to allow: --allow {paste.word(held.rule)}"] if held.rule else []
    if fork.sockets:
        many = "one WebSocket" if fork.sockets == 1 else f"{fork.sockets} WebSockets"
        said.append(f"{many} to a model refused with a 426: live models are asked over HTTP")
    if fork.children:
        said.append("child runs: " + ", ".join(f"{paste.line(name)} is {run}" for name, run in fork.children.items()))
    if fork.children and fork.missing_children:
        said.append("recorded child runs that none stood for: " + ", ".join(map(paste.line, fork.missing_children)))
    return said


def document(fork: Forked) -> dict[str, Json]:
    """The member `fork` of the report."""
    return {
        "mode": fork.mode,
        "step": fork.step,
        "said": fork.said,
        "reached": fork.reached,
        "stubbed": fork.stubbed,
        "live": [_gone(gone) for gone in fork.live],
        "sockets": fork.sockets,
        "withheld": [withheld_document(held) for held in fork.withheld],
        "children": dict(fork.children),
        "missing_children": list(fork.missing_children),
    }


def withheld_document(held: Withheld) -> dict[str, Json]:
    """One request that was not let out."""
    return {"step": held.step, "request": held.place, "why": held.why, "rule": held.rule}


def _gone(gone: Gone) -> dict[str, Json]:
    return {
        "step": gone.step,
        "request": gone.place,
        "effect": gone.effect,
        "idempotency_key": gone.key,
        "status": gone.status,
        "receipt": gone.receipt,
        "failure": gone.failure,
    }


def _went(gone: Gone) -> str:
    key = f", key {gone.key}" if gone.key else ""
    effect = "" if gone.effect == "read" else f"; {gone.effect}, receipt {gone.receipt or 'none'}{key}"
    return f"live: step {gone.step}, {gone.place}: {gone.failure or gone.status or 'passed on'}{effect}"
