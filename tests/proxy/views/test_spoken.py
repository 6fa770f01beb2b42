"""What models said on a WebSocket counts like what they said over HTTP: words, tools, tokens, time."""

import json
from typing import Literal

from proxy.views.spoken import Spoken, spoken
from store.core.event import Event, Place
from store.core.model import Fact, WsMessage
from store.core.text import Body
from store.exchange import Exchange, steps
from tests.proxy.views.test_timeline import Memory, request
from tests.support import responses_shape
from tests.support.dialogue import ToolCall, Turn

type Said = tuple[bool, object]  # whether the agent said it, and what

CREATE = {"type": "response.create", "model": "m-1", "input": []}
STEP_US = 1_000


def heard(
    *said: Said, path: str = "/v1/responses", query: bytes = b"", servers: Literal["text", "binary"] = "text"
) -> Spoken | None:
    bodies = {f"{number:064}": json.dumps(value, indent=1).encode() for number, (_, value) in enumerate(said)} | {
        "f" * 64: query
    }
    facts: list[Fact] = [request(path=path, query=Body(body="f" * 64))]
    facts += [
        WsMessage(
            req=0,
            direction="to_server" if is_agents else "to_client",
            opcode="text" if is_agents else servers,
            body=Body(body=f"{number:064}"),
        )
        for number, (is_agents, _) in enumerate(said)
    ]
    (exchange,) = steps(
        Event(Place("01a2", seq, "0" * 64, "2026-11-29T14:03:05.000000Z", seq * STEP_US), each)
        for seq, each in enumerate(facts)
    )
    assert isinstance(exchange, Exchange)
    return spoken(exchange, Memory(bodies))


def answer(turn: Turn) -> list[Said]:
    return [(False, json.loads(each.partition(b"data: ")[2])) for each in responses_shape.events(turn)]


def test_each_answer_counts_once_and_all_of_them_are_one() -> None:
    asks = Turn(1, "m-1", (), ToolCall("lookup", {"id": 1}), "tool_calls", 7)
    says = Turn(2, "m-1", ("low ", "risk"), None, "stop", 11)
    found = heard((True, CREATE), *answer(asks), (True, CREATE), *answer(says))
    assert found is not None
    assert (found.times, found.tools, found.answer.text) == (2, ("lookup",), "low risk")
    assert [call.arguments for call in found.calls] == ['{"id":1}']
    assert found.usage["input_tokens"] == 18
    assert found.took_us == len(answer(asks) + answer(says)) * STEP_US


def test_an_answer_that_was_cut_is_what_came_of_it() -> None:
    found = heard((True, CREATE), *answer(Turn(1, "m-1", ("low ", "risk"), None, "stop", 11))[:4])
    assert found is not None
    assert (found.answer.text, found.times, found.usage) == ("low ", 1, {})


def test_each_turn_of_a_live_session_counts_with_what_it_used() -> None:
    def turn(text: str, used: int) -> tuple[Said, Said]:
        model = {"modelTurn": {"parts": [{"text": text}]}}
        usage = {"promptTokenCount": 10, "responseTokenCount": used}
        return (False, {"serverContent": model}), (
            False,
            {"serverContent": {"turnComplete": True}, "usageMetadata": usage},
        )

    config = {"temperature": 0}
    found = heard(
        (True, {"setup": {"model": "models/live-1", "generationConfig": config}}),
        (False, {"setupComplete": {}}),
        (True, {"clientContent": {"turns": [], "turnComplete": True}}),
        (False, {"toolCall": {"functionCalls": [{"id": "c1", "name": "lookup", "args": {"id": 1}}]}}),
        (True, {"toolResponse": {"functionResponses": []}}),
        *turn("low ", 3),
        (True, {"realtimeInput": {"audio": {"data": "AAAA", "mimeType": "audio/pcm"}}}),
        (False, {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": "AA"}}]}}}),
        (False, {"serverContent": {"outputTranscription": {"text": "ris"}}}),
        *turn("k", 1),
        path="/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
        servers="binary",
    )
    assert found is not None
    assert (found.models, found.operation, found.times) == (("live-1",), "BidiGenerateContent", 3)
    assert (found.tools, found.calls[0].arguments) == (("lookup",), '{"id":1}')
    assert [answer.text for answer in found.answers] == ["", "low ", "risk"]
    assert found.usage == {"promptTokenCount": 20, "responseTokenCount": 4}
    assert found.took_us == (1 + 2 + 4) * STEP_US


def test_a_realtime_session_is_asked_by_its_address_and_may_answer_unasked() -> None:
    def done(words: str, count: int) -> Said:
        content = [{"type": "audio", "transcript": words}]
        output = [{"type": "message", "role": "assistant", "content": content}]
        body = {"id": "resp_1", "status": "completed", "output": output, "usage": {"output_tokens": count}}
        return False, {"type": "response.done", "response": body}

    found = heard(
        (False, {"type": "session.created", "session": {"model": "rt-1"}}),
        (True, {"type": "session.update", "session": {}}),
        (False, {"type": "response.audio.delta", "delta": "AAAA"}),
        done("hello", 3),
        (True, {"type": "input_audio_buffer.append", "audio": "AAAA"}),
        done("again", 4),
        (True, {"type": "response.create"}),
        done("bye", 5),
        path="/v1/realtime",
        query=b"model=rt-1",
    )
    assert found is not None
    assert (found.models, found.operation, found.times) == (("rt-1",), "realtime", 3)
    assert (found.answer.text, found.usage) == ("hello\nagain\nbye", {"output_tokens": 12})
