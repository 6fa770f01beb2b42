"""Each kind of step has its line in plain words."""

import json
from dataclasses import dataclass, field

import pytest

from proxy.views.timeline import Line, lines
from store.core.errors import EdgetapeError
from store.core.event import Event, Place
from store.core.model import Ended, Fact, Gap, HttpRequest, HttpResponse, Note, RpcMessage, TunnelOpen, Value, WsMessage
from store.core.text import Apart, Body, Text, text_bytes
from store.exchange import steps
from tests.support import responses_shape
from tests.support.dialogue import ToolCall, Turn

BODY = Body(body="0" * 64)


@dataclass
class Memory:
    """A Look that remembers bodies by what names them."""

    bodies: dict[str, bytes] = field(default_factory=dict)

    def text(self, event: Event, value: Text | None) -> bytes:
        if isinstance(value, Apart) and value.body is not None:
            return self.body(event, value)
        return b"" if value is None else text_bytes(value)

    def body(self, event: Event, apart: Apart | None) -> bytes:
        if apart is None or apart.body not in self.bodies:
            raise EdgetapeError("erased")
        return self.bodies[apart.body]


def told(*facts: Fact, look: Memory | None = None) -> list[Line]:
    events = [
        Event(Place("01a2", seq, "0" * 64, "2026-11-29T14:03:05.000000Z", seq * 1_000_000), each)
        for seq, each in enumerate(facts)
    ]
    return lines(steps(events), look or Memory())


def request(**more: object) -> HttpRequest:
    plain = {
        "method": "GET",
        "scheme": "https",
        "host": "api.example",
        "port": 443,
        "path": "/v1",
        "http_version": "HTTP/1.1",
        "headers": [],
    }
    return HttpRequest(**(plain | more))  # type: ignore[arg-type]


def response(ended: Ended = "complete", status: int = 200, **more: object) -> HttpResponse:
    return HttpResponse(
        req=0,
        status=status,
        http_version="HTTP/1.1",
        headers=[],
        ended=ended,
        framing="length",
        **more,  # type: ignore[arg-type]
    )


def test_a_request_without_an_outcome_is_open() -> None:
    (line,) = told(request())
    assert (line.status, line.mark) == ("open", "odd")
    assert line.words == "GET https://api.example/v1; no outcome yet"


@pytest.mark.parametrize(
    "ended, words",
    [
        ("reset", "the answer was cut by the server"),
        ("client_gone", "the agent left before its end"),
        ("recorder_stopped", "the recorder stopped before its end"),
    ],
)
def test_an_answer_that_did_not_end_says_so(ended: Ended, words: str) -> None:
    (line,) = told(request(), response(ended))
    assert line.mark == "bad"
    assert line.words.endswith(words)


def test_a_body_beyond_the_limit_is_said_to_be_kept_in_part() -> None:
    (line,) = told(request(), response(truncated=True, wire_bytes=10))
    assert (line.mark, line.words) == ("good", "GET https://api.example/v1; its body was kept in part")


def test_a_model_that_stopped_without_saying_why_is_told() -> None:
    asked = request(model="m", operation="messages", boundary="decision")
    (cut,) = told(asked, response(chunks=BODY, tools=["search"]))
    (whole,) = told(asked, response(chunks=BODY, tools=["search"], stop="tool_use"))
    assert (cut.mark, whole.mark) == ("odd", "good")
    assert cut.words.endswith("it asks for search; its stream has no last event, as one that was cut")


@pytest.mark.parametrize("status, mark", [(200, "good"), (302, "good"), (404, "odd"), (429, "odd"), (503, "bad")])
def test_a_status_has_its_mark(status: int, mark: str) -> None:
    (line,) = told(request(), response(status=status))
    assert (line.status, line.mark) == (str(status), mark)


def test_a_model_is_told_with_what_it_wants_and_used() -> None:
    asked = request(model="m-1", operation="chat")
    (line,) = told(asked, response(tools=["lookup", "notify"], usage=[["prompt_tokens", 12], ["completion_tokens", 1]]))
    assert line.words == (
        "model m-1 asked (chat) at api.example:443; it asks for lookup, notify; 12 prompt tokens, 1 completion token"
    )


def test_a_long_or_erased_query_stays_one_line() -> None:
    look = Memory({BODY.body or "": b"q=" + b"x" * 500})
    (line,) = told(request(query=BODY), look=look)
    assert len(line.words) < 200
    assert "?q=xxx" in line.words
    (line,) = told(request(query=BODY))
    assert "?(erased)" in line.words


def test_ports_and_addresses_are_told_where_they_are_unusual() -> None:
    (line,) = told(request(host="::1", port=8443))
    assert "https://[::1]:8443/v1" in line.words


def test_a_websocket_counts_its_messages() -> None:
    messages = [
        WsMessage(req=0, direction="to_server", opcode="text", body=BODY),
        WsMessage(req=0, direction="to_client", opcode="text", body=BODY),
        WsMessage(req=0, direction="to_client", opcode="binary", body=BODY),
    ]
    (line,) = told(request(), response(status=101), *messages)
    assert line.words.endswith("1 message to the server, 2 back")


def test_a_websocket_names_the_model_that_its_messages_ask() -> None:
    turn = Turn(1, "m-1", (), ToolCall("lookup", {"id": 1}), "tool_calls", 7)
    asked = json.dumps({"type": "response.create", "model": "m-1", "input": []}).encode()
    said = [event.partition(b"data: ")[2].strip() for event in responses_shape.events(turn)]
    bodies = {f"{number:064}": body for number, body in enumerate((asked, *said, asked))}
    messages = [
        WsMessage(req=0, direction="to_server" if body is asked else "to_client", opcode="text", body=Body(body=name))
        for name, body in bodies.items()
    ]
    opened = request(path="/v1/responses"), response(status=101)
    (line,) = told(*opened, *messages, look=Memory(bodies))
    assert line.words.startswith(
        "model m-1 asked (responses) 2 times on a WebSocket at api.example:443; it asks for lookup; "
    )
    assert "output tokens" in line.words
    (line,) = told(*opened, *messages, look=Memory())
    assert line.words == f"GET https://api.example/v1/responses; 2 messages to the server, {len(said)} back"


def test_what_is_no_exchange_has_its_line_too() -> None:
    gap = Gap(since="2026-11-29T14:03:05.000000Z", until="2026-11-29T14:03:09.000000Z", reason="the disk was full")
    told_lines = told(
        Value(kind="now", body=BODY),
        Note(kind="decision", body=BODY),
        TunnelOpen(host="h.example", port=443, reason="not_http"),
        RpcMessage(server="files", direction="to_server", body=BODY, method="tools/call"),
        gap,
    )
    assert [line.number for line in told_lines] == [1, 2, None, None, None]
    assert [line.words for line in told_lines] == [
        "the time handed to the agent",
        "the agent notes: decision",
        "tunnel to h.example:443, unopened: not HTTP",
        "tools/call to the tool server files",
        "not recorded from 2026-11-29 14:03:05Z to 2026-11-29 14:03:09Z: the disk was full",
    ]
