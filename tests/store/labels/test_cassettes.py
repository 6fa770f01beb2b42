"""Real recorded exchanges: every chat is known, with the model that was asked and the usage that was told.

The recordings lie outside this repository: EDGETAPE_TEST_DATA names the folder with http_cassettes.jsonl.zst.
"""

import base64
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import zstandard

from store.labels.classify import label, response_labels
from store.labels.summary import summary
from store.labels.wire import Request, Response

CASSETTES = Path(os.environ.get("EDGETAPE_TEST_DATA", "")) / "http_cassettes.jsonl.zst"
CHAT = re.compile(r"/(chat/completions|responses|messages)$")
ENOUGH = 2_700  # chats among the recordings, so that a filter gone wrong is noticed

pytestmark = pytest.mark.skipif(not CASSETTES.is_file(), reason="EDGETAPE_TEST_DATA names no recordings")

type Tree = dict[str, "Tree | list[Tree] | str | int | float | None"]


@dataclass(frozen=True)
class Recorded:
    """One exchange of the recordings, as the wire had it, and its bodies as JSON objects."""

    source: str
    request: Request
    response: Response
    asked: Tree
    told: list[Tree]


def test_every_chat_is_known_with_its_model_and_its_usage() -> None:
    chats = [exchange for exchange in exchanges() if exchange.asked and CHAT.search(exchange.request.route)]
    assert len(chats) > ENOUGH
    for chat in chats:
        labels = label(chat.request)
        assert (labels.kind, labels.boundary) == ("llm", "decision"), chat.source
        assert labels.model == chat.asked.get("model", deployment(chat.request)), chat.source
        told = response_labels(labels, chat.response.status, chat.response.headers, chat.response.body)
        assert (told.model or "") == model_of(chat.told), chat.source
        assert dict(told.usage) == usage_of(chat.told), chat.source
        assert told.stop or chat.response.status >= 400 or not finished(chat.told), chat.source


def test_every_exchange_has_a_line_for_people() -> None:
    for exchange in exchanges():
        line = summary(exchange.request, exchange.response)
        assert line.isprintable(), exchange.source
        assert len(line) < 300, exchange.source


def exchanges() -> Iterator[Recorded]:
    with CASSETTES.open("rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        for text in io.TextIOWrapper(reader, "utf-8"):
            line = json.loads(text)
            url, sent = urlsplit(line["url"]), base64.b64decode(line["request_body_b64"] or "")
            request = Request(
                line["method"].encode(),
                url.scheme.encode(),
                (url.hostname or "").encode(),
                url.port or 443,
                f"{url.path}?{url.query}".encode(),
                [(name.encode(), value.encode()) for name, value in line["request_headers"]],
                sent,
            )
            response = Response(
                line["status"],
                [(name.encode(), value.encode()) for name, value in line["response_headers"]],
                base64.b64decode(line["response_body_b64"] or ""),
            )
            asked = objects(request.content)
            yield Recorded(line["source"], request, response, asked[0] if asked else {}, objects(response.content))


def objects(body: bytes) -> list[Tree]:
    """The JSON objects of a body: itself, or those behind `data:` at the start of its lines."""
    texts = [body] if body.lstrip()[:1] == b"{" else re.findall(rb"^data: ?(\{.*\})\s*$", body, re.MULTILINE)
    try:
        return [json.loads(text) for text in texts]
    except ValueError:
        return []


def deployment(request: Request) -> str | None:
    found = re.search(r"/deployments/([^/]+)/", request.route)
    return found[1] if found else None


def envelopes(told: list[Tree]) -> list[Tree]:
    """Where a provider writes model and usage: at the top, or in the `response`, `message` or `x_groq` below."""
    below = [part[name] for part in told for name in ("response", "message", "x_groq") if name in part]
    return [*told, *(part for part in below if isinstance(part, dict))]


def model_of(told: list[Tree]) -> str:
    return next((str(part["model"]) for part in envelopes(told) if part.get("model")), "")


def usage_of(told: list[Tree]) -> dict[str, int]:
    """What was counted: the newest word on each count."""
    counted: dict[str, int] = {}
    for part in sorted(envelopes(told), key=lambda part: part.get("type") == "message_delta"):
        counted |= leaves(part.get("usage"), "")
    return counted


def leaves(value: object, name: str) -> dict[str, int]:
    if isinstance(value, dict):
        inner = [leaves(member, f"{name}.{key}".lstrip(".")) for key, member in value.items() if "cost" not in key]
        return {key: count for part in inner for key, count in part.items()}
    return {name: value} if isinstance(value, int) and not isinstance(value, bool) else {}


def finished(told: list[Tree]) -> bool:
    """Whether the model said why it stopped."""
    return bool(re.search(r'"(finish_reason|stop_reason)": "\w+"', json.dumps(told)))
