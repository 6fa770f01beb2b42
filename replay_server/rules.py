"""Rules of what may differ: places that are not compared, and requests that need not come.

The language, one rule a line of text:

- `body POINTER`, `query NAME`, `header NAME`, `path model`: the place is not compared. A pointer is a JSON Pointer
  (RFC 6901) in which `*` stands for any member or item; after `#` it goes on inside the JSON that a string holds.
- `... matches REGEX` after any of these, or `value matches REGEX` for every text of query and body: only what the
  expression finds in the texts there is not compared.
- an optional request: `METHOD HOST/PATH`, `*` for any part of it, and after it `where PLACE matches REGEX` for those
  alone in which the expression finds something.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from store.core.compare import ABSENT, Absent, Side, escaped
from store.core.errors import EdgetapeError
from store.core.form import Endpoint
from store.core.jsontext import Inner, Node

PLACES = {"body": "body", "query": "query", "header": "headers", "path": "path"}
_ANY = "*"
_MATCHES = " matches "
_WHERE = " where "
_VALUE = "value"
_IGNORE_HINT = (
    "write `body /messages/0/content`, `query page` or `header accept`; * is any member or item; `matches REGEX` after"
    " it takes a part of the text"
)
_OPTIONAL_HINT = "write `GET api.example.com/v1/settings*`; * is any part"

type _Do = Callable[[Node], tuple[Side, int]]


class BadRule(EdgetapeError):
    """A rule that cannot be read."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """A place that may differ, or with `pattern` what that finds in its texts. Place "value" is every text."""

    place: str
    pointer: str
    pattern: re.Pattern[str] | None = None

    @classmethod
    def parse(cls, text: str) -> "Ignore":
        """Raises BadRule."""
        where, matches, expression = text.lstrip().partition(_MATCHES)
        place, _, rest = where.strip().partition(" ")
        rest = rest.strip()
        if place == _VALUE and not rest and matches:
            return cls(place, "", _compiled(text, expression))
        if place not in PLACES or not rest or (place == "body" and not rest.startswith("/")):
            raise BadRule(f"this rule cannot be read: {text!r}", hint=_IGNORE_HINT)
        pointer = rest if place == "body" else f"/{escaped(rest.lower() if place == 'header' else rest)}"
        return cls(place, pointer, _compiled(text, expression) if matches else None)

    def __str__(self) -> str:
        if self.place == _VALUE:
            where = _VALUE
        elif self.place == "body":
            where = f"body {self.pointer}"
        else:
            where = f"{self.place} {_token(self.pointer.removeprefix('/'))}"
        return where + (f"{_MATCHES}{self.pattern.pattern}" if self.pattern else "")

    def remove(self, document: dict[str, Node]) -> int:
        """Takes what the rule names out of `document`; how many places that were."""
        if self.place == _VALUE:
            return sum(_at(document, [part], self._do) for part in ("query", "body"))
        tokens = [_token(token) for token in self.pointer.replace("#", "").split("/")[1:]]
        return _at(document, [PLACES[self.place], *tokens], self._do)

    def finds(self, document: dict[str, Node]) -> bool:
        """Whether the place is there, and the expression finds something in it."""
        return self.remove({name: _copied(value) for name, value in document.items()}) > 0

    @property
    def _do(self) -> _Do:
        return _gone if self.pattern is None else partial(_cut, self.pattern)


@dataclass(frozen=True, slots=True)
class Optional:
    """Requests that may come any number of times, or not at all."""

    method: str
    place: str
    condition: Ignore | None = None

    @classmethod
    def parse(cls, text: str) -> "Optional":
        """Raises BadRule."""
        what, where, condition = text.lstrip().partition(_WHERE)
        method, _, place = what.strip().partition(" ")
        place = place.strip().removeprefix("https://").removeprefix("http://")
        if not method or "/" not in place:
            raise BadRule(f"this rule cannot be read: {text!r}", hint=_OPTIONAL_HINT)
        if where and _MATCHES not in condition:
            raise BadRule(f"this rule cannot be read: {text!r}", hint="write `where body /system matches REGEX`")
        return cls(method, place, Ignore.parse(condition) if where else None)

    def __str__(self) -> str:
        condition = f"{_WHERE}{self.condition}" if self.condition else ""
        return f"{self.method} {self.place}{condition}"

    def names(self, place: Endpoint) -> bool:
        """Whether a request to `place` may be one of these."""
        path = place.path.decode("utf-8", "surrogateescape") or "/"  # a CONNECT has none
        return self.method in (_ANY, place.method) and (
            fnmatchcase(f"{place.host}{path}", self.place)
            or fnmatchcase(f"{place.host}:{place.port}{path}", self.place)
        )

    def fits(self, document: dict[str, Node]) -> bool:
        """Whether a request whose place fits is one of these."""
        return self.condition is None or self.condition.finds(document)


def _compiled(rule: str, expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as error:
        raise BadRule(
            f"this rule cannot be read: {rule!r}: {error}", hint="the syntax is that of Python's re"
        ) from None


def _token(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def _at(node: Node, tokens: list[str], do: _Do) -> int:
    """Puts what `do` gives at each place below `node` that `tokens` name; the sum of what it counts."""
    token, rest = tokens[0], tokens[1:]
    match node:
        case Inner(value):
            return _at(value, tokens, do)
        case dict():
            return sum(_in_object(node, name, rest, do) for name in (list(node) if token == _ANY else [token]))
        case list() if token == _ANY:
            return sum(_in_list(node, at, rest, do) for at in range(len(node)))
        case list() if token.isdecimal():
            return _in_list(node, int(token), rest, do)
    return 0


def _in_object(node: dict[str, Node], name: str, rest: list[str], do: _Do) -> int:
    if name not in node:
        return 0
    if rest:
        return _at(node[name], rest, do)
    new, count = do(node[name])
    if isinstance(new, Absent):
        del node[name]
    else:
        node[name] = new
    return count


def _in_list(node: list[Node], at: int, rest: list[str], do: _Do) -> int:
    if at >= len(node):
        return 0
    if rest:
        return _at(node[at], rest, do)
    new, count = do(node[at])
    node[at] = None if isinstance(new, Absent) else new  # the place stays, so that what follows keeps its own
    return count


def _gone(_: Node) -> tuple[Side, int]:
    return ABSENT, 1


def _cut(pattern: re.Pattern[str], node: Node) -> tuple[Side, int]:
    """Every text at and below `node` without what `pattern` finds."""
    match node:
        case str():
            return pattern.subn("", node)
        case dict():
            return node, sum(_in_object(node, name, [], partial(_cut, pattern)) for name in node)
        case list():
            return node, sum(_in_list(node, at, [], partial(_cut, pattern)) for at in range(len(node)))
        case Inner(value):
            return node, _cut(pattern, value)[1]
    return node, 0


def _copied(node: Node) -> Node:
    match node:
        case dict():
            return {name: _copied(member) for name, member in node.items()}
        case list():
            return [_copied(item) for item in node]
        case Inner(value):
            return Inner(_copied(value))
    return node
