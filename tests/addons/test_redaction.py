"""What the recorder writes of a body that had to change: decoded, counted, with the pieces of what is stored."""

import asyncio
import gzip
import json
from pathlib import Path

from store.core import chunks
from store.core.model import HttpRequest, HttpResponse
from tests.addons.raw import ask, get, served
from tests.addons.recording import recording
from tests.support.steps import stepping

KEY = "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"


async def test_a_coded_answer_with_a_secret_is_stored_decoded_and_passes_as_it_came(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps({"access_token": "ya29.SECRET", "n": 1}).encode(), mtime=0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        )
        writer.write(head % len(packed) + packed)
        await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        answer = await ask(made.recorder.port, get(f"http://127.0.0.1:{port}/x"))
        assert answer.endswith(packed)
        (exchange,) = made.exchanges()
        facts = exchange.response
        assert isinstance(facts, HttpResponse)
        assert made.response_body(exchange) == b'{"access_token": "<edgetape:field:1>", "n": 1}'
        assert (facts.exact, facts.wire_bytes, facts.redactions) == (False, len(packed), [["field", 1]])
        assert exchange.outcome is not None
        with made.reader() as reader:  # the wire's own header, which speaks of the body no more
            assert (b"Content-Encoding", b"gzip") in reader.pairs(exchange.outcome, facts.headers)


async def test_a_key_in_pieces_leaves_one_mark_and_a_table_of_what_is_stored(tmp_path: Path) -> None:
    texts = ["Your ", "key is sk-", "ant-api03", "-aB3dE6gH9jK2mN5p", "Q8sT1vW4yZ7", ", keep it"]
    events = [f"data: {json.dumps({'delta': {'content': text}})}\n\n".encode() for text in texts]

    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    written = [b"%x\r\n%s\r\n" % (len(event), event) for event in events]

    async with stepping(head, *written, b"0\r\n\r\n") as steps, recording(tmp_path) as made:
        answer = await steps.asked(made.recorder.port)
        assert all(event in answer for event in events)
        (exchange,) = made.exchanges()
        stored = made.response_body(exchange)
        assert b"key is <edgetape:anthropic:1>" in stored
        assert stored.count(b"<edgetape:") == 1
        assert not any(piece.encode() in stored for piece in ("ant-api03", "aB3dE6gH", "Q8sT1vW4"))
        facts = exchange.response
        assert isinstance(facts, HttpResponse)
        with made.reader() as reader:
            assert exchange.outcome is not None
            table = chunks.decode(reader.body(exchange.outcome, facts.chunks))
        assert sum(chunk.length for chunk in table) == len(stored)
        assert len(table) == len(events)


async def test_of_a_request_only_harmless_headers_keep_their_values(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: https://u:pass-4711@h/?code=4/0AX4XfWhPz9kQ2mN5pQ8&n=1\r\n")
        writer.write(b"Content-Length: 0\r\n\r\n")
        await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        sent = (
            b"Accept: a/b",
            b"X-Tenant: acme",
            b"Cookie: a=b; sid=c",
            b"Authorization: Bearer x",
            b"X-Stainless-Os: L",
        )
        await ask(made.recorder.port, get(f"http://127.0.0.1:{port}/bot1234567890:{'aB3' * 12}/x?key=k&n=1", *sent))
        (exchange,) = made.exchanges()
        assert made.request_headers(exchange)[2:] == [
            (b"Accept", b"a/b"),
            (b"X-Tenant", b"<edgetape:header:1>"),
            (b"Cookie", b"a=<edgetape:cookie:1>; sid=<edgetape:cookie:2>"),
            (b"Authorization", b"Bearer <edgetape:authorization:1>"),
            (b"X-Stainless-Os", b"L"),
        ]
        facts = exchange.facts
        assert isinstance(facts, HttpRequest)
        assert facts.path == "/bot<edgetape:path:1>/x"
        with made.reader() as reader:
            assert reader.body(exchange.request, facts.query) == b"key=<edgetape:query:1>&n=1"
            assert exchange.outcome is not None
            assert exchange.response is not None
            told = dict(reader.pairs(exchange.outcome, exchange.response.headers))
        assert told[b"Location"] == b"https://u:<edgetape:userinfo:1>@h/?code=<edgetape:query:2>&n=1"


async def test_an_error_of_ours_names_no_secret(tmp_path: Path) -> None:
    async with recording(tmp_path, secrets=("environment-secret",)) as made:
        made.recorder._keeping.failed(RuntimeError(f"cannot send environment-secret or {KEY}"))
        said = made.recorder.counts.last_failure
        assert said == "cannot send <edgetape:environment:1> or <edgetape:anthropic:1>"
