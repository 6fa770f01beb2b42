"""Looks through recorded runs for what was said in them: in addresses, requests, answers, messages, notes.

Rules kept here:
- There is no index: everything is read, one body at a time, with its content coding undone.
- A streamed answer counts as the text that it comes to, too: a word is found though the stream cut it in two.
- A body that is erased or damaged says nothing, and is counted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from proxy.views.answer import answer_of
from proxy.views.body import Body, body_of, request_body, response_body
from proxy.views.readable import undone
from proxy.views.timeline import target
from proxy.words import shown
from store.core.errors import EdgetapeError
from store.core.model import Note, RpcMessage, Value, WsMessage
from store.exchange import Exchange, Happening, Step
from store.labels import tree
from store.labels.tree import Json
from store.reader import Reader

EXCERPT_CHARS = 60


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for. `host` and `tool` are patterns (`*` for any letters); `empty` is a JSON Pointer (RFC 6901)
    to a value of the answer that has nothing in it; None asks for nothing.
    """

    pattern: re.Pattern[str] | None = None
    host: str | None = None
    tool: str | None = None
    empty: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One step in which it was found: where (address, request, answer, message, note), and the words around it."""

    step: int
    where: str
    excerpt: str


@dataclass(slots=True)
class Finder:
    """One look through some runs; `unreadable` counts what could not be read."""

    reader: Reader
    wanted: Wanted
    unreadable: int = 0

    def hits(self, steps: list[Step]) -> Iterator[Hit]:
        """The steps that fit, in their order, each once."""
        for step in steps:
            if step.step is None or not self._is_about(step):
                continue
            hit = self._exchange(step) if isinstance(step, Exchange) else self._happening(step)
            if hit is not None:
                yield hit

    def _is_about(self, step: Step) -> bool:
        wanted = self.wanted
        if not isinstance(step, Exchange):
            return wanted.host is None and wanted.tool is None and wanted.empty is None
        facts = step.facts
        texts = ((wanted.host, facts.host), (wanted.tool, facts.tool))
        return all(
            pattern is None or fnmatchcase(self._text(step, value).lower(), pattern.lower()) for pattern, value in texts
        )

    def _text(self, step: Exchange, value: object) -> str:
        try:
            return shown(self.reader.text(step.request, value)) if value is not None else ""  # type: ignore[arg-type]
        except EdgetapeError:
            self.unreadable += 1
            return ""

    def _exchange(self, step: Exchange) -> Hit | None:
        answer = self._content(response_body(self.reader, step))
        empty = self.wanted.empty
        if empty is not None and not _is_empty(answer, empty):
            return None
        if self.wanted.pattern is None:
            return Hit(step.step, "answer", _flat(answer[:EXCERPT_CHARS]))
        return next(filter(None, (self._in(step.step, where, text) for where, text in self._texts(step, answer))), None)

    def _texts(self, step: Exchange, answer: str) -> Iterator[tuple[str, str]]:
        yield "address", self._address(step)
        yield "request", self._content(request_body(self.reader, step))
        said = answer_of(self.reader, step)
        if said is not None:
            calls = (f"{call.name}({call.arguments})" for call in said.calls)
            yield "answer", "\n".join((said.text, said.reasoning, *calls))
        yield "answer", answer
        for event in step.messages:
            if isinstance(event.facts, WsMessage):
                yield "message", self._content(body_of(self.reader, event, event.facts.body))

    def _address(self, step: Exchange) -> str:
        try:
            query = self.reader.body(step.request, step.facts.query)
            return f"{target(step.request, step.facts, self.reader).partition('?')[0]}?{shown(query)}".rstrip("?")
        except EdgetapeError:
            self.unreadable += 1
            return ""

    def _happening(self, step: Happening) -> Hit | None:
        facts = step.event.facts
        if self.wanted.pattern is None or not isinstance(facts, Value | Note | RpcMessage):
            return None
        where = {Value: "value", Note: "note", RpcMessage: "message"}[type(facts)]
        bodies = [body_of(self.reader, step.event, facts.body)]
        if step.end is not None and isinstance(step.end.facts, RpcMessage):
            bodies.append(body_of(self.reader, step.end, step.end.facts.body))
        number = step.step or 0
        return next(filter(None, (self._in(number, where, self._content(body)) for body in bodies)), None)

    def _content(self, body: Body | None) -> str:
        if body is None:
            return ""
        self.unreadable += bool(body.missing)
        text = undone(body.content, body.coding)[0].decode("utf-8", "replace")
        if "\\u" in text and (value := tree.parse(text)) is not None:
            return tree.spell(value)  # as it reads, not as it was escaped
        return text

    def _in(self, step: int, where: str, text: str) -> Hit | None:
        found = self.wanted.pattern.search(text) if self.wanted.pattern is not None else None
        if found is None:
            return None
        before = max(0, found.start() - EXCERPT_CHARS // 3)
        cut = text[before : max(found.end(), before + EXCERPT_CHARS)][: 4 * EXCERPT_CHARS]
        return Hit(step, where, _flat(f"{'…' if before else ''}{cut}"))


def _flat(text: str) -> str:
    return " ".join(shown(text.encode("utf-8", "replace"), one_line=False).split())


def _is_empty(answer: str, pointer: str) -> bool:
    """Whether the value at `pointer` is there and is null, "", [] or {}."""
    node: Json = tree.parse(answer)
    if node is None and answer.strip() != "null":
        return False
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        match node:
            case dict() if name in node:
                node = node[name]
            case list() if name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            case _:
                return False
    return node is None or node in ("", [], {})
