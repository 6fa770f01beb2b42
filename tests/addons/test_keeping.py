"""What cannot be recorded does not happen: the agent gets a clear answer, or its connection ends."""

import json
from pathlib import Path

import pytest

from addons.options import Durability
from addons.tee import Tee
from store import commit
from store.core.errors import StoreUnusable
from store.core.redact import Redactor
from store.drafting import desk
from tests.addons.raw import ask, connected, get, until
from tests.addons.recording import Disk, recording
from tests.support.provider import Provider


async def test_a_request_that_cannot_be_recorded_does_not_leave(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk) as made:
        await ask(made.recorder.port, get(provider.url + "/before"))
        disk.full = True
        answer = await ask(made.recorder.port, get(provider.url + "/lost", method=b"POST", body=b"b"))
        disk.full = False
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 Service Unavailable")
        assert b"application/problem+json" in head
        assert "cannot record this exchange" in json.loads(body)["detail"]
        assert [request.path for request in provider.seen()] == ["/before"]
        assert made.recorder.counts.failures == 1
        await ask(made.recorder.port, get(provider.url + "/after"))
        assert [exchange.facts.path for exchange in made.exchanges()] == ["/before", "/after"]


async def test_a_streamed_upload_that_cannot_be_recorded_does_not_leave(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk) as made:
        await ask(made.recorder.port, get(provider.url + "/before"))
        disk.full = True
        chunked = get(provider.url + "/lost", b"Transfer-Encoding: chunked", method=b"POST")
        answer = await ask(made.recorder.port, chunked + b"3\r\nabc\r\n0\r\n\r\n")
        disk.full = False
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert [request.path for request in provider.seen()] == ["/before"]


async def test_an_answer_that_cannot_be_recorded_is_replaced(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk) as made:
        original = provider._answer  # the store fails between request and answer

        def fill_the_disk(request: object) -> object:
            disk.full = True
            return original(request)  # type: ignore[arg-type]

        provider._answer = fill_the_disk  # type: ignore[method-assign, assignment]
        answer = await ask(made.recorder.port, get(provider.url + "/paid", method=b"POST", body=b"b"))
        disk.full = False
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"/paid" not in answer
    (exchange,) = made.exchanges()
    assert exchange.error is not None
    assert exchange.error.kind == "recorder_stopped"


async def test_a_stream_that_cannot_be_recorded_is_cut(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk) as made:
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(get(provider.url + "/fault/slow-sse?n=100&ms=50"))
            await reader.readuntil(b'data: {"n":1}')
            disk.full = True
            rest = await reader.read()
            disk.full = False
        assert b'"n":99' not in rest
        assert not rest.endswith(b"0\r\n\r\n")
        await until(lambda: made.recorder.counts.failures > 0)


async def test_in_group_the_next_request_notices_that_the_store_has_failed(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk, durability="group") as made:
        await ask(made.recorder.port, get(provider.url + "/a"))
        disk.full = True
        await ask(made.recorder.port, get(provider.url + "/b"))
        await until(lambda: made.recorder.counts.failures > 0)
        answer = await ask(made.recorder.port, get(provider.url + "/c"))
        assert answer.startswith(b"HTTP/1.1 503 ")
        disk.full = False
        assert (await ask(made.recorder.port, get(provider.url + "/d"))).startswith(b"HTTP/1.1 200 ")
        assert "/c" not in [request.path for request in provider.seen()]


async def test_in_group_whoever_brings_more_waits_for_a_writer_that_is_far_behind(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "UNHURRIED_S", 1.0)  # what nobody waits for is not written before it is looked for
    monkeypatch.setattr(desk, "WAITING_MAX", -1)
    async with recording(tmp_path, durability="group") as made:
        await ask(made.recorder.port, get(provider.url + "/a"))
        assert [exchange.response is not None for exchange in made.exchanges()] == [True]


@pytest.mark.parametrize("durability", ["strict", "group"])
async def test_a_failure_of_our_own_is_treated_like_one_of_the_store(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, durability: Durability
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    async with recording(tmp_path, durability=durability) as made:
        monkeypatch.setattr(Redactor, "query", broken)
        if durability == "group":  # it is noticed at the next event
            await ask(made.recorder.port, get(provider.url + "/y?z=1"))
            await until(lambda: made.recorder.counts.failures > 0)
        before = made.recorder.counts.failures
        answer = await ask(made.recorder.port, get(provider.url + "/x?y=1"))
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"a fault of ours" in answer
        assert "/x" not in [request.path for request in provider.seen()]
        assert made.recorder.counts.failures == before + 1
        assert "a fault of ours" in made.recorder.counts.last_failure


async def test_a_tee_that_fails_still_passes_every_byte() -> None:
    def broken(_: bytes) -> None:
        raise StoreUnusable("full")

    tee = Tee(0, 1 << 20, broken)
    assert tee(b"x" * 100_000) == b"x" * 100_000
    assert isinstance(tee.failure, StoreUnusable)
    assert tee(b"more") == b"more"
    tee.close()


async def test_a_run_that_cannot_be_opened_is_tried_again_by_the_next_request(
    tmp_path: Path, provider: Provider
) -> None:
    disk = Disk()
    async with recording(tmp_path, disk) as made:
        disk.full = True
        assert (await ask(made.recorder.port, get(provider.url + "/a"))).startswith(b"HTTP/1.1 503 ")
        disk.full = False
        assert (await ask(made.recorder.port, get(provider.url + "/b"))).startswith(b"HTTP/1.1 200 ")
        assert [exchange.facts.path for exchange in made.exchanges()] == ["/b"]
