"""Says what a live mode may let out and where to, before anything happens, and asks whether that is meant."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import click

from proxy.border import Misuse
from proxy.talk import Talk
from proxy.views.spoken import Look, spoken
from proxy.words import count, printable
from replay_server.registry import MODEL_KINDS, Registry
from replay_server.ventures.sandbox import NO_FAKES, Fakes
from store.core.text import Text
from store.exchange import Exchange


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server that the recording knows as a model's, and how many requests it got from a step on."""

    scheme: str
    host: str
    port: int
    asked: int

    def __str__(self) -> str:
        return _address(self.scheme, self.host, self.port)


def model_servers(exchanges: Iterable[Exchange], step: int, look: Look) -> list[ModelServer]:
    """The model servers of a recording, in the order in which they were first asked; over WebSockets, too."""
    found: Counter[tuple[str, str, int]] = Counter()
    for exchange in exchanges:
        facts = exchange.facts
        talk = spoken(exchange, look) if exchange.messages else None
        asked = talk.times if talk is not None else int(facts.kind in MODEL_KINDS)
        if asked and isinstance(facts.host, str) and isinstance(facts.scheme, str):
            found[facts.scheme, facts.host.strip("[]").lower(), facts.port] += asked * (exchange.step >= step)
    return [ModelServer(*place, asked) for place, asked in found.items()]


def announcement(
    opening: str,
    servers: Sequence[ModelServer],
    registry: Registry,
    *,
    since: int = 1,
    fakes: Fakes = NO_FAKES,
    filed: Sequence[str] = (),
) -> Iterator[str]:
    """What may leave, line by line; `filed` are the rules that a settings file brought in."""
    onwards = " from there on" if since > 1 else ""
    yield opening
    for fake in fakes.rows:
        yield f"  requests for {fake.host}{fake.place}, to its fake {fake}"
    for server in servers:
        yield f"  model requests to {server} ({count(server.asked, 'request')} in the recording{onwards})"
    for rule in registry.rules:
        if not rule.models_only:
            where = " (edgetape.toml)" if str(rule) in filed else ""
            yield f"  {'by rule' if rule.is_live else 'NOT, by rule'}: {rule}{where}"
    if not (fakes.rows or servers or any(not rule.models_only for rule in registry.rules)):
        yield "  nothing"
    yield "everything else is answered from the recording, or refused"


def rehearsed(exchanges: Iterable[Exchange], look: Look) -> Iterator[str]:
    """What an agent that is recorded anew, with nothing held back, did the last time, server by server."""
    asked: Counter[tuple[str, bool]] = Counter()
    effects: Counter[tuple[str, bool]] = Counter()
    for exchange in exchanges:
        facts = exchange.facts
        talk = spoken(exchange, look) if exchange.messages else None
        place = (_address(facts.scheme, facts.host, facts.port), talk is not None or facts.kind in MODEL_KINDS)
        asked[place] += 1 if talk is None else talk.times
        effects[place] += talk is None and facts.effect != "read"
    yield "this records live, and holds nothing back; the last time the agent made"
    for place, number in asked.items():
        server, is_model = place
        changing = f", {effects[place]} of which may have changed something there" if effects[place] else ""
        yield f"  {count(number, 'model request' if is_model else 'request')} to {server}{changing}"
    if not asked:
        yield "  no request"
    yield "what it does now may be more, and other"


def _address(scheme: Text, host: Text, port: int) -> str:
    """An address as a person reads it."""
    spelled, name = (each if isinstance(each, str) else "(no text)" for each in (scheme, host))
    return f"{spelled}://{f'[{name}]' if ':' in name and not name.startswith('[') else name}:{port}"


def agree(talk: Talk, lines: Iterable[str], *, yes: bool) -> bool:
    """Says it; whether a person agrees. Raises Misuse where there is nobody to ask and no --yes."""
    for line in lines:
        talk.always(printable(line))
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Misuse("this goes live, and there is no terminal to ask whether it may", hint="say --yes")
    return click.confirm("go on?", err=True)
