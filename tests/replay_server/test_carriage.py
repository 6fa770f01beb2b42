"""What a live answer is on its way to the agent: streamed, cut, never come, and the same again in a replay."""

import asyncio

from replay_server.server import ReplayOptions, ReplayServer
from store.core.model import HttpError
from tests.replay_server.forking import ask, finished, forking, of_run, record_two
from tests.replay_server.recording import Place, Recording
from tests.replay_server.test_roundtrip import run as run_agent
from tests.replay_server.wires import Wire, dial
from tests.support.authority import Authority, ServerCertificate
from tests.support.ports import closed_port
from tests.support.provider import Options, Provider, serving
from tests.support.steps import stepping

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_pieces_of_a_stream_are_passed_on_as_they_come(place: Place, provider: Provider) -> None:
    async with place.replaying(record_two(place, provider.url), forking(1, "host=*")) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        # Each piece is written only once the agent has had the one before it.
        async with stepping(STREAM, *[b"9\r\ndata: a\n\n\r\n"] * 3, b"0\r\n\r\n") as steps:
            assert (await steps.asked(server.port)).endswith(b"0\r\n\r\n")


async def test_a_server_that_is_not_there_is_told_and_recorded(place: Place) -> None:
    with closed_port() as port:
        url = f"http://127.0.0.1:{port}"
        async with place.replaying(record_two(place, url), forking(1, "host=*")) as server:
            await ask(server, "GET", f"{url}/rows")
            answered = await ask(server, "GET", f"{url}/new")
            report = await finished(server)
    assert answered.startswith(b"HTTP/1.1 502 ")
    assert "cannot be reached" in report.text()
    _, told, reader = of_run(place, server.run)
    reader.close()
    assert isinstance(told[1].error, HttpError)
    assert told[1].error.kind == "connect"


async def test_a_distrusted_server_gets_nothing(place: Place, tls_provider: Provider) -> None:
    url = tls_provider.url
    async with place.replaying(record_two(place, url), forking(1, "host=*")) as server:
        await ask(server, "GET", f"{url}/rows")
        answered = await ask(server, "GET", f"{url}/new")
        await finished(server)
    assert answered.startswith(b"HTTP/1.1 502 ")
    assert tls_provider.seen() == ()
    _, told, reader = of_run(place, server.run)
    reader.close()
    assert told[1].error is not None
    assert told[1].error.kind == "tls"


async def test_an_agent_that_leaves_is_recorded_as_gone(place: Place, provider: Provider) -> None:
    async with place.replaying(record_two(place, provider.url), forking(1, "host=*")) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        for path in ("/fault/slow-sse?n=500&ms=50", "/fault/timeout"):
            wire = await dial(server)
            wire.send(f"GET {provider.url}{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            await _leave(wire, provider, path)
        await asyncio.sleep(0)
        await finished(server)
    _, told, reader = of_run(place, server.run)
    reader.close()
    assert told[1].response is not None
    assert told[2].error is not None
    assert (told[1].response.ended, told[2].error.kind) == ("client_gone", "client_gone")


async def _leave(wire: Wire, provider: Provider, path: str) -> None:
    async with asyncio.timeout(30):
        # The provider runs on a thread of its own, and sets no event of ours.
        while not any(one.target == path for one in provider.seen()) or ("sse" in path and not wire.pieces):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    wire.close()


async def test_an_agent_sees_live_what_a_replay_of_it_shows_again(
    place: Place, upstream_authority: Authority, upstream_certificate: ServerCertificate
) -> None:
    files = (upstream_certificate.certificate, upstream_certificate.key)
    with serving(Options(tls=files)) as provider:
        base = f"https://localhost:{provider.port}"

        def tell(recording: Recording) -> None:
            recording.get(f"{base}/begin", b"[]")

        plain = ReplayOptions(live=forking(1, "host=* class=write", root=upstream_authority.root).live)
        async with place.replaying(place.record(tell), plain) as server:
            await _begin(server, place, base)
            lived = await run_agent(base, server.run, server.port, place.authority.certificate_path)
        provider.forget()
        async with place.replaying(server.run) as again:
            await _begin(again, place, base)
            replayed = await run_agent(base, again.run, again.port, place.authority.certificate_path)
    assert replayed == lived
    assert len(lived) == 78
    assert not any(line.split()[2:3] == ["502"] for line in lived)
    assert provider.seen() == ()


async def _begin(server: ReplayServer, place: Place, base: str) -> None:
    assert (await ask(server, "GET", f"{base}/begin"))[9:12] == b"200"
