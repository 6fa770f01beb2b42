"""What a comparison varies: another model, other variables of the agent's environment, and how often each runs."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proxy.border import Misuse

_HINT = "--with 'MODEL=m1 TEMPERATURE=0'"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run the agent; without anything it is as it is today."""

    model: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For people, and as the label of its runs."""
        told = " ".join(f"{name}={value}" for name, value in self.variables.items())
        return f"model {self.model}" if self.model else told or "as it is"


def variants(models: Sequence[str], variables: Sequence[str]) -> list[Variant]:
    """Those of a command line, at least one. Raises Misuse."""
    if not all(models):
        raise Misuse("--model names no model", hint="without --model the agent asks for its own")
    found = [Variant(model=model, words=("--model", model)) for model in models]
    found += [Variant(variables=dict(_pairs(text)), words=("--with", text)) for text in variables]
    return found or [Variant()]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Misuse(f"these variables cannot be read: {text!r}: {error}", hint=_HINT) from error
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise Misuse(f"no variable and value: {word!r}", hint=_HINT)
        yield name, value
    if not words:
        raise Misuse("--with changes no variable", hint=_HINT)
