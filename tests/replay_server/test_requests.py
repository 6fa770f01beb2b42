"""Requests of every size and spelling are read as they are."""

import gzip

import pytest

from store.core.draft import Sheet
from store.core.model import HttpRequestEnd
from store.exchange import exchanges
from store.reader import Reader
from tests.replay_server.recording import Pairs, Place, Recording, encode
from tests.replay_server.wires import asking as ask
from tests.replay_server.wires import dial, dial_through

HOST = "api.example.com:443"


def break_off(recording: Recording, sent: bytes, headers: Pairs = ()) -> None:
    """An upload that was refused before its end."""
    request = recording.ask("PUT", "https://api.example.com/big", headers=headers, streaming=True)
    sheet = Sheet()
    body = sheet.apart(recording.redactor.body(sent)) if sent else None
    recording.writer.append(recording.run, sheet.draft(HttpRequestEnd(req=-1, ended="reset", body=body)), after=request)
    recording.answer(request, b"too big", status=413)


@pytest.mark.parametrize("chunked", [False, True])
async def test_c044_a_request_of_many_megabytes_is_no_problem(place: Place, chunked: bool) -> None:
    asked = encode({"model": "m", "messages": [{"role": "user", "content": "x" * 3_000_000}]})

    def tell(recording: Recording) -> None:
        recording.answer(recording.ask("POST", "https://api.example.com/big", asked), b"ok")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        kind = "Content-Type: application/json\r\n"
        if chunked:
            wire.send(ask("/big", method="POST", more=kind + "Transfer-Encoding: chunked\r\n"))
            for at in range(0, len(asked), 100_000):
                piece = asked[at : at + 100_000]
                wire.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            wire.send(b"0\r\n\r\n")
        else:
            wire.send(ask("/big", method="POST", more=f"{kind}Content-Length: {len(asked)}\r\n") + asked)
        await wire.until(b"ok")
        assert (await server.stop(0)).exit_code == 0


async def test_long_queries_and_large_heads_are_no_problem(place: Place) -> None:
    query = "q=" + "a" * 100_000

    def tell(recording: Recording) -> None:
        recording.get(f"https://api.example.com/l?{query}", b"ok")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        many = "".join(f"X-{number}: {'v' * 800}\r\n" for number in range(100)) + f"X-Long: {'w' * 80_000}\r\n"
        wire.send(ask(f"/l?{query}", more=many))
        await wire.until(b"ok")
        assert (await server.stop(0)).exit_code == 0


async def test_a_path_that_is_no_utf_8_is_matched_as_it_is(place: Place) -> None:
    def tell(recording: Recording) -> None:
        recording.get("https://api.example.com/caf\udce9", b"ok")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(b"GET /caf\xe9 HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
        await wire.until(b"ok")
        assert (await server.stop(0)).exit_code == 0


@pytest.mark.parametrize(
    "coding, body",
    [
        ("gzip", gzip.compress(b'{ "model": "m" }', mtime=0)),
        ("zstd", bytes.fromhex("28b52ffd200d690000") + b'{"model":"m"}'),
    ],
    ids=["gzip", "zstd"],
)
async def test_c027_a_coded_request_is_matched_decoded_and_100_continue_is_given(
    place: Place, coding: str, body: bytes
) -> None:
    def tell(recording: Recording) -> None:
        recording.answer(recording.ask("POST", "https://api.example.com/e", b'{"model":"m"}'), b"ok")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        more = f"Content-Type: application/json\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n"
        more += "Expect: 100-continue\r\n"
        wire.send(ask("/e", method="POST", more=more))
        assert await wire.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.send(body)
        await wire.until(b"ok")
        assert (await server.stop(0)).exit_code == 0


async def test_pipelined_requests_are_answered_in_order(place: Place) -> None:
    def tell(recording: Recording) -> None:
        for name in "abc":
            recording.get(f"https://api.example.com/{name}", name.encode() * 3)

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/b") + ask("/a") + ask("/c"))
        received = await wire.until(b"ccc")
        assert received.index(b"bbb") < received.index(b"aaa")
        await server.stop(0)


async def test_an_upload_that_was_streamed_is_compared_whole(place: Place) -> None:
    asked = encode({"a": list(range(1000))})

    def tell(recording: Recording) -> None:
        recording.upload("https://api.example.com/u", asked, b"ok")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        more = f"Content-Type: application/json\r\nContent-Length: {len(asked)}\r\n"
        wire.send(ask("/u", method="POST", more=more) + asked)
        await wire.until(b"ok")
        assert (await server.stop(0)).exit_code == 0


@pytest.mark.parametrize("method", ["get", "M-SEARCH", "M\u00d6VE"])
async def test_any_method_is_the_one_that_was_recorded(place: Place, method: str) -> None:
    def tell(recording: Recording) -> None:
        recording.answer(recording.ask(method, "http://api.example.com/m", headers=()), b"ok")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(f"{method} http://api.example.com/m HTTP/1.1\r\nHost: api.example.com\r\n\r\n".encode())
        await wire.until(b"ok")
        wire.send(b"GET http://api.example.com/other HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
        await wire.until(b"}")
        report = await server.stop(0)
    assert (report.counts["matched"], report.counts["unexpected"]) == (1, 1)
    with Reader.open(place.store, place.keys) as reader:
        (first, _) = exchanges(reader.events(server.run))
        assert reader.text(first.request, first.facts.method) == method.encode()


@pytest.mark.parametrize("sent", [b"", b"abc"])
async def test_an_upload_that_broke_off_is_the_one_that_begins_with_it(place: Place, sent: bytes) -> None:
    def tell(recording: Recording) -> None:
        for body in (b"abcdef", b""):
            recording.answer(recording.ask("PUT", "https://api.example.com/big", body, ()), b"taken")
        break_off(recording, sent)

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        for body, answer in ((b"abcdef", b"taken"), (b"", b"taken"), (b"abcdef", b"too big")):
            wire.send(ask("/big", method="PUT", more=f"Content-Length: {len(body)}\r\n") + body)
            await wire.until(answer)
        assert (await server.stop(0)).exit_code == 0


async def test_a_form_whose_parts_are_not_on_record_fits_whatever_divides_them(place: Place) -> None:
    def tell(recording: Recording) -> None:
        break_off(recording, b"", ((b"Content-Type", b"multipart/form-data; boundary=old"),))

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        body = b'--new\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--new--\r\n'
        more = f"Content-Type: multipart/form-data; boundary=new\r\nContent-Length: {len(body)}\r\n"
        wire.send(ask("/big", method="PUT", more=more) + body)
        await wire.until(b"too big")
        assert (await server.stop(0)).exit_code == 0


async def test_an_upload_that_broke_off_is_no_other_one(place: Place) -> None:
    def tell(recording: Recording) -> None:
        break_off(recording, b"abc")

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/big", method="PUT", more="Content-Length: 3\r\n") + b"abd")
        await wire.until(b"}")
        assert (await server.stop(0)).exit_code == 40


WAITS = "Content-Length: 8\r\nExpect: 100-continue\r\n"
EXPECTS = ((b"Expect", b"100-continue"),)


async def test_who_waits_before_its_body_hears_what_was_recorded(place: Place) -> None:
    def tell(recording: Recording) -> None:
        break_off(recording, b"", EXPECTS)
        asked = recording.ask("PUT", "https://api.example.com/big", b'{"a": 1}', headers=EXPECTS)
        recording.answer(asked, b"ok", interim=[(b":status", b"100"), (b"X-From", b"server")])

    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/big", method="PUT", more=WAITS))
        refusal = await wire.until(b"too big")
        assert refusal.startswith(b"HTTP/1.1 413 ")
        assert b"\r\nConnection: close\r\n" in refusal
        await wire.end()
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/big", method="PUT", more=WAITS))
        assert await wire.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\nX-From: server\r\n\r\n"
        wire.send(b'{"a": 1}')
        await wire.until(b"ok")
        report = await server.stop(0)
        assert (report.exit_code, report.counts["matched"]) == (0, 2)


async def test_who_sends_its_body_unasked_is_refused_without_a_100(place: Place) -> None:
    async with place.replaying(place.record(lambda told: break_off(told, b"", EXPECTS))) as server:
        wire = await dial_through(server, place, HOST)
        wire.send(ask("/big", method="PUT", more=WAITS) + b'{"a": 1}')
        assert b"HTTP/1.1 100" not in await wire.until(b"too big")
        assert (await server.stop(0)).exit_code == 0
