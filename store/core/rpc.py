"""JSON-RPC messages as they pass between an agent and a tool server that speaks over its stdin and stdout.

The Model Context Protocol's stdio transport: one message a line, UTF-8, no line feed within (JSON-RPC 2.0).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from store.core.draft import Draft, Sheet
from store.core.errors import Malformed
from store.core.jsontext import Node, Number, parse
from store.core.model import RpcMessage
from store.core.redact import Redacted, Redactor

type Direction = Literal["to_server", "to_client"]

_LEXEME = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)

FAILED = -32000  # the first of the codes that are an implementation's own


@dataclass(frozen=True, slots=True)
class Message:
    """What a message is: a request has a method and an id, a notification a method alone, an answer an id alone.

    `id` is its JSON source text, "" where there is none; `tool` the tool that a tools/call names.
    """

    method: str = ""
    id: str = ""
    tool: str = ""
    document: Node = None

    @property
    def is_request(self) -> bool:
        """Whether it wants an answer."""
        return bool(self.method and self.id)

    @property
    def is_answer(self) -> bool:
        """Whether it is one."""
        return bool(self.id and not self.method)

    @property
    def words(self) -> str:
        """The method, and the tool where one is called."""
        return f"{self.method} {self.tool}".rstrip()


def message(raw: bytes) -> Message:
    """What a line says; a Message without anything where it is no JSON-RPC."""
    try:
        said = parse(raw)
    except Malformed:
        return Message()
    if not isinstance(said, dict):
        return Message()
    method, parameters = said.get("method"), said.get("params")
    tool = parameters.get("name") if isinstance(parameters, dict) and method == "tools/call" else None
    rest = {name: value for name, value in said.items() if name not in ("id", "jsonrpc")}
    return Message(
        method if isinstance(method, str) else "", _spelled(said.get("id")), tool if isinstance(tool, str) else "", rest
    )


def is_good(answer: Message) -> bool:
    """Whether an answer tells of success: no error, and no result of a tool that says that it is one."""
    said = answer.document
    result = said.get("result") if isinstance(said, dict) else None
    return result is not None and not (isinstance(result, dict) and result.get("isError") is True)


def draft(redactor: Redactor, server: str, direction: Direction, said: Message, body: Redacted) -> Draft:
    """The event that a message makes; `said` is what it says, `body` the message redacted."""
    sheet = Sheet()
    return sheet.draft(
        RpcMessage(
            server=sheet.text(redactor.plain(server)),
            direction=direction,
            body=sheet.apart(body, "application/json"),
            method=sheet.text(redactor.plain(said.method)) if said.method else None,
            id=sheet.text(redactor.plain(said.id)) if said.id else None,
        )
    )


def with_id(raw: bytes, now: str) -> bytes:
    """An answer under another id, given as JSON source: its own `id` is spelled anew, all else stays byte for byte."""
    for start, end in answer_ids(raw):
        return raw[:start] + now.encode("utf-8", "surrogateescape") + raw[end:]
    return raw


def answer_ids(body: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Where the top-level ids of the answers among JSON-RPC messages stand, in one message or a list of them."""
    depth = base = 0
    before = name = b""
    names: dict[bytes, tuple[int, int]] = {}
    for found in _LEXEME.finditer(body, start, len(body) if end is None else end):
        text = found[0]
        if text in (b"{", b"["):
            depth += 1
            base = base or (2 if text == b"[" else 1)
            if text == b"{" and depth == base:
                names = {}
        elif text in (b"}", b"]"):
            if text == b"}" and depth == base and b'"method"' not in names and b'"id"' in names:
                yield names[b'"id"']
            depth -= 1
        elif depth == base:
            if text == b":":
                name = before
                names[name] = (0, 0)
            elif before == b":":
                names[name] = found.span()
        before = text


def failure(id_: str, sentence: str) -> bytes:
    """The answer to a request that is not passed on."""
    words = json.dumps(sentence, ensure_ascii=False)
    return f'{{"jsonrpc":"2.0","id":{id_},"error":{{"code":{FAILED},"message":{words}}}}}'.encode()


def _spelled(value: Node) -> str:
    match value:
        case Number(source):
            return source
        case str():
            return json.dumps(value, ensure_ascii=False)
    return ""
