"""A recorder whose events are drafted and written in another process, and what becomes of traffic when that dies."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from addons.options import Durability
from store.clerk.clerk import Clerk
from store.core.errors import StoreUnusable
from store.core.model import HttpRequest, HttpResponse, RunClose
from store.exchange import exchanges
from store.reader import Reader
from store.writer import Writer
from tests.addons.raw import ask, get, served, until
from tests.addons.recording import Recording, recording_by
from tests.support.provider import Provider

KEY = "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"


@asynccontextmanager
async def clerk_at(folder: Path, **changes: object) -> AsyncIterator[tuple[Recording, Clerk]]:
    with contextlib.closing(Clerk.open(folder / "store", folder / "keys")) as clerk:
        async with recording_by(clerk, folder, **changes) as made:
            yield made, clerk


@asynccontextmanager
async def dying(folder: Path, **changes: object) -> AsyncIterator[tuple[Recording, Clerk]]:
    """The same, whose clerk will not live to see its end."""
    one = clerk_at(folder, **changes)
    yield await anext(one.gen)
    with pytest.raises(StoreUnusable, match="the process that writes the recording has ended"):
        await anext(one.gen)


@pytest.mark.parametrize("durability", ["strict", "group"])
async def test_what_passes_is_on_record_as_it_would_be_in_one_process(
    tmp_path: Path, provider: Provider, durability: Durability
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n")
        writer.write(b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in (KEY[:20].encode(), KEY[20:].encode()):
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async with served(serve) as port, clerk_at(tmp_path, durability=durability) as (made, clerk):
        for number in range(20):
            said = await ask(made.recorder.port, get(f"{provider.url}/{number}", method=b"POST", body=b"b" * 2048))
            assert said.startswith(b"HTTP/1.1 200 ")
        await ask(made.recorder.port, get(f"http://127.0.0.1:{port}/stream?key={KEY}"))
        said = b'{"kind": "decision", "summary": "%s"}' % KEY.encode()
        note = get("http://edgetape.internal/v1/notes", method=b"POST", body=said)
        assert (await ask(made.recorder.port, note)).startswith(b"HTTP/1.1 201 ")
        assert made.recorder.counts.failures == 0
        assert not clerk.is_behind
    done = made.exchanges()
    assert [one.facts.path for one in done] == [*(f"/{number}" for number in range(20)), "/stream"]
    streamed = done[-1].response
    assert isinstance(streamed, HttpResponse)
    assert (streamed.ended, streamed.interim) == ("complete", [[":status", "103"], ["Link", "</x>"]])
    assert made.response_body(done[-1]) == b"<edgetape:query:1>"
    closing = made.facts()[-1]
    assert isinstance(closing, RunClose)
    assert (closing.partial, closing.reason) == (0, "normal")
    for file in (tmp_path / "store").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


@pytest.mark.parametrize("durability", ["strict", "group"])
async def test_its_death_stops_traffic_and_nothing_that_was_answered_for_is_lost(
    tmp_path: Path, provider: Provider, durability: Durability
) -> None:
    answered = 0
    async with dying(tmp_path, durability=durability) as (made, clerk):

        async def go_on(name: int) -> None:
            nonlocal answered
            for number in range(1000):
                said = await ask(made.recorder.port, get(f"{provider.url}/{name}/{number}"))
                if not said.startswith(b"HTTP/1.1 200 "):
                    return
                answered += 1

        going = [asyncio.create_task(go_on(name)) for name in range(4)]
        await until(lambda: answered > 20)
        os.kill(clerk.process_id, signal.SIGKILL)
        await asyncio.gather(*going)
        left = len(provider.seen())
        said = await ask(made.recorder.port, get(provider.url + "/after"))
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"the process that writes the recording has ended" in said
        assert len(provider.seen()) == left
        assert "has ended" in made.recorder.counts.last_failure
    Writer.open(tmp_path / "store", tmp_path / "keys").close()
    with Reader.open(tmp_path / "store", tmp_path / "keys") as reader:
        events = list(reader.events(reader.find("last").id))
    done = [one for one in exchanges(events) if one.response is not None and one.response.ended == "complete"]
    assert isinstance(events[-1].facts, RunClose)
    assert events[-1].facts.reason == "crash_recovered"
    assert len(done) >= (answered if durability == "strict" else 1)


async def test_its_death_lets_traffic_pass_where_that_was_asked_for(tmp_path: Path, provider: Provider) -> None:
    async with dying(tmp_path, on_store_failure="pass") as (made, clerk):
        await ask(made.recorder.port, get(provider.url + "/before"))
        os.kill(clerk.process_id, signal.SIGKILL)
        for number in range(3):
            said = await ask(made.recorder.port, get(f"{provider.url}/{number}"))
            assert said.startswith(b"HTTP/1.1 200 ")
        assert made.recorder.standing.failing
    Writer.open(tmp_path / "store", tmp_path / "keys").close()
    facts = made.facts()
    assert [each.path for each in facts if isinstance(each, HttpRequest)] == ["/before"]
