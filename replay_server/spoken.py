"""What one recorded exchange asked and said, as far as it tells what it came from and what could come from it.

A word is an identifier of eight characters or more: letters and digits mixed, and no date.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from store.core.errors import Malformed
from store.core.jsontext import Inner, Node, Number, Repeated, opened, parse
from store.labels.dialect import Call

QUOTED_CHARS_MIN = 24
_NAMED = 1_000_000

_CHARS_MIN = 8
_WORD = re.compile(rb"[A-Za-z0-9][A-Za-z0-9_.@-]{6,}[A-Za-z0-9]")
_DIGIT = re.compile(rb"[0-9]")
_MIXED_WITH = re.compile(rb"[A-Za-z-]")
_APART = re.sub(rb"[^A-Za-z0-9_.@-]", b" ", bytes(range(256)))  # whatever no word has in it, as a space
_DATE = re.compile(rb"(19|20)\d\d-?[01]\d-?[0-3]\d")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A tool that a model asked for: its name, its arguments, and the texts and numbers among them."""

    name: str
    arguments: Node
    leaves: frozenset[str]

    @classmethod
    def of(cls, call: Call) -> "Wanted":
        """What a call wants."""
        try:
            arguments = opened(parse(call.arguments))
        except Malformed:
            arguments = call.arguments
        return cls(call.name, arguments, frozenset(filter(None, texts(arguments))))


@dataclass(frozen=True)
class Said:
    """An answer: the tools that it asks for, and `whole`, all that it says as one text, "" where that is too short to
    be known again. `texts` gives every text in it.
    """

    whole: str
    calls: tuple[Wanted, ...]
    texts: Callable[[], Iterable[str]]

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of all that it says."""
        return words(self.texts())


@dataclass(frozen=True)
class Spoken:
    """`leaves` are all texts and numbers of a request. `tool` is what it asks for by name, with its arguments. `began`
    and `ended` are places among the events of `run`; `effect` is that of the labels.

    Answers are long, and most are never asked about: `answer` reads one.
    """

    leaves: frozenset[str]
    tool: tuple[str, Node] | None
    llm: bool
    run: str
    host: tuple[str, int]
    effect: str
    began: int
    ended: int | None
    answer: Callable[[], Said]

    @cached_property
    def said(self) -> Said:
        """The answer."""
        return self.answer()

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the request."""
        return words(self.leaves)

    @cached_property
    def all_words(self) -> frozenset[str]:
        """The words of request and answer."""
        return self.words | self.said.words

    def quotes(self, other: "Spoken") -> bool:
        """Whether this request holds the whole answer of `other`."""
        return bool(self._long_leaves and other.said.whole) and any(
            other.said.whole in leaf for leaf in self._long_leaves
        )

    @cached_property
    def _long_leaves(self) -> tuple[str, ...]:
        return tuple(leaf for leaf in self.leaves if len(leaf) >= QUOTED_CHARS_MIN)

    def follows(self, call: Wanted) -> int:
        """How surely this request is what a model asked for with `call`: 0 for not at all.

        A plain request has all that was asked for somewhere in it; the more that is the better, and the name of the
        tool in its path is worth more than any of it.
        """
        if self.tool is not None:
            name, given = self.tool
            return int(call.name.endswith(name) and given == call.arguments)
        if not call.leaves or not call.leaves <= self.leaves:
            return 0
        return len(call.leaves) + (_NAMED if call.name in self.leaves else 0)


def tool_of(body: Node) -> tuple[str, Node] | None:
    """The tool that a JSON-RPC request names, with its arguments."""
    parameters = body.get("params") if isinstance(body, dict) and "jsonrpc" in body else None
    name = parameters.get("name") if isinstance(parameters, dict) else None
    return (name, parameters.get("arguments")) if isinstance(parameters, dict) and isinstance(name, str) else None


def words(found: Iterable[str]) -> frozenset[str]:
    """The words of some texts. Answers are long and few of their words are identifiers: the others go first."""
    runs = {run for text in found if _has_digit(text) for run in _runs(text)}
    near = (word for run in runs if _DIGIT.search(run) for word in _WORD.findall(run))
    return frozenset(word.decode() for word in near if _is_identifier(word))


def distinct(word: str) -> bool:
    """Whether a word is so odd that two agents side by side do not happen on it."""
    digits = sum(letter.isdigit() for letter in word)
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(word))
    return digits >= 5 or changes >= 4


def texts(node: Node) -> Iterator[str]:
    """Every text and number of a value, names of members left out."""
    match node:
        case str():
            yield node
        case Number(source):
            yield source
        case dict():
            for member in node.values():
                yield from texts(member)
        case list():
            for item in node:
                yield from texts(item)
        case Inner(value):
            yield from texts(value)
        case Repeated(pairs):
            for _, member in pairs:
                yield from texts(member)


def _has_digit(text: str) -> bool:
    return any(digit in text for digit in "0123456789")


def _runs(text: str) -> list[bytes]:
    """What of a text is long enough for a word and is not of letters alone, in one piece."""
    pieces = text.encode("ascii", "replace").translate(_APART).split()
    return [piece for piece in pieces if len(piece) >= _CHARS_MIN and not piece.isalpha()]


def _is_identifier(word: bytes) -> bool:
    return bool(_DIGIT.search(word) and _MIXED_WITH.search(word)) and not _DATE.match(word)
