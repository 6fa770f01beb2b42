"""What a recorded answer repeats of its request is repeated of the live one."""

import gzip
import json

from replay_server.answer import Recorded
from replay_server.echoes import Echoes, answer_ids, request_fields
from store.core.chunks import Chunk
from store.core.form import Pairs
from store.core.jsontext import Number, parse

JSON = ((b"Content-Type", b"application/json"),)
EVENTS = ((b"Content-Type", b"text/event-stream; charset=utf-8"),)
NONE = Echoes({}, {}, {})


def answer(body: bytes, headers: Pairs = JSON, *cuts: int) -> Recorded:
    chunks = tuple(Chunk(length, 0) for length in cuts)
    return Recorded(200, b"OK", headers, "length", "complete", body, chunks)


def renamed(body: bytes, was: object, now: object, headers: Pairs = JSON) -> Recorded:
    was_body, now_body = (parse(json.dumps({"jsonrpc": "2.0", "method": "m", "id": one})) for one in (was, now))
    return Echoes({}, answer_ids(was_body, now_body), {}).put(answer(body, headers))


def test_the_id_of_an_answer_is_that_of_the_live_request_with_its_type() -> None:
    body = b'{"jsonrpc": "2.0", "result": {"id": 1, "x": [1, {"id": 1}]}, "id": 1 }'
    assert renamed(body, 1, 27).body == body.replace(b'"id": 1 }', b'"id": 27 }')
    assert renamed(body, 1, 'a"b').body == body.replace(b'"id": 1 }', b'"id": "a\\"b" }')
    assert renamed(body.replace(b'"id": 1 }', b'"id": "1" }'), "1", 2).body.endswith(b'"id": 2 }')
    assert renamed(body, 5, 6).body == body
    assert renamed(body, 1, 27).mapped == 1


def test_a_request_of_the_server_keeps_its_own_id() -> None:
    events = (
        b'data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}\r\n\r\n'
        b'event: message\r\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\r\n\r\n'
    )
    served = renamed(events, 1, 900, EVENTS)
    assert served.body == events.replace(b'"id":1,"result"', b'"id":900,"result"')


def test_a_list_of_messages_is_one_message_after_another() -> None:
    both = [
        parse(json.dumps([{"jsonrpc": "2.0", "method": "m", "id": one} for one in ids])) for ids in ((1, 2), (8, 9))
    ]
    ids = answer_ids(*both)
    assert ids == {Number("1"): Number("8"), Number("2"): Number("9")}
    body = b'[{"jsonrpc":"2.0","id":2,"result":[{"id":1}]},{"jsonrpc":"2.0","id":1,"result":{}}]'
    assert json.loads(Echoes({}, ids, {}).put(answer(body)).body) == [
        {"jsonrpc": "2.0", "id": 9, "result": [{"id": 1}]},
        {"jsonrpc": "2.0", "id": 8, "result": {}},
    ]


def test_an_answer_that_is_packed_is_unpacked_for_its_id_and_for_nothing_else() -> None:
    packed = answer(
        gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":"key-0001"}'), (*JSON, (b"Content-Encoding", b"gzip"))
    )
    assert Echoes({b"key-0001": b"key-0002"}, {}, {}).put(packed).body == packed.body
    served = Echoes({}, {Number("1"): Number("2")}, {}).put(packed)
    assert served.body == b'{"jsonrpc":"2.0","id":2,"result":"key-0001"}'
    assert served.headers == [*JSON]


def test_whole_values_only() -> None:
    body = b'{"key":"id-11111","note":"of id-11111","id-11111":1,"in":"{\\"key\\": \\"id-11111\\"}"}'
    served = Echoes({b"id-11111": b"id-9"}, {}, {}).put(answer(body, JSON, 20, len(body) - 20))
    assert served.body == b'{"key":"id-9","note":"of id-11111","id-11111":1,"in":"{\\"key\\": \\"id-9\\"}"}'
    assert sum(chunk.length for chunk in served.chunks) == len(served.body)
    assert served.mapped == 2
    text = answer(body, ((b"Content-Type", b"text/plain"),))
    assert Echoes({b"id-11111": b"id-9"}, {}, {}).put(text).body == body


def test_headers_repeat_keys_that_are_not_compared() -> None:
    recorded = ((b"X-Request-Id", b"req-1234567890ab"), (b"Accept", b"a"))
    live = ((b"x-request-id", b"req-ba0987654321"), (b"accept", b"b"))
    fields = request_fields(recorded, live)
    assert fields == {b"req-1234567890ab": b"req-ba0987654321"}
    served = Echoes({}, {}, fields).put(answer(b"{}", (*JSON, (b"X-Request-Id", b"req-1234567890ab"))))
    assert served.headers[-1] == (b"X-Request-Id", b"req-ba0987654321")
    assert request_fields(((b"X-Request-Id", b"2026-11-29"),), ((b"X-Request-Id", b"2026-11-30"),)) == {}


def test_nothing_to_repeat_changes_nothing() -> None:
    made = answer(b'{"id":1}', (*JSON, (b"X", b"y")))
    assert NONE.put(made) is made
