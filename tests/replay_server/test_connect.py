"""The front: CONNECT, the byte that decides, and every way to reach the server."""

import asyncio
import socket
import ssl
from datetime import UTC, datetime, timedelta

import pytest

from replay_server.certificates import Certificates
from replay_server.server import CannotListen, ReplayOptions
from store.core.socks import reply
from store.reader import Reader
from tests.replay_server.recording import Place, Recording
from tests.replay_server.wires import Wire, dial, dial_through

GET = b"GET /a HTTP/1.1\r\nHost: api.example.com\r\n\r\n"


def tell(recording: Recording) -> None:
    recording.get("https://api.example.com/a", b"secure")
    recording.get("http://api.example.com:443/a", b"plain inside")
    recording.get("http://api.example.com/a", b"absolute")


async def test_tls_inside_a_connect(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, "api.example.com:443")
        wire.send(GET)
        await wire.until(b"secure")


async def test_plain_http_inside_a_connect(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n")
        await wire.until(b"\r\n\r\n")
        wire.send(GET)
        await wire.until(b"plain inside")


async def test_a_client_need_not_wait_for_the_200(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n" + GET)
        await wire.until(b"plain inside")


async def test_a_client_hello_sent_with_the_connect_is_not_lost(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        assert await asyncio.to_thread(eager_tls, server.port, place.trusted) == b"secure"


def eager_tls(port: int, trusted: str) -> bytes:
    """Sends CONNECT and the client's hello in one segment."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl.create_default_context(cafile=trusted).wrap_bio(incoming, outgoing, server_hostname="api.example.com")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    with socket.create_connection(("127.0.0.1", port), 10) as plain:
        plain.sendall(b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n" + outgoing.read())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += plain.recv(1)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                plain.sendall(outgoing.read())
                incoming.write(plain.recv(65536))
        tls.write(GET)
        plain.sendall(outgoing.read())
        received = b""
        while not received.endswith(b"secure"):
            incoming.write(plain.recv(65536))
            try:
                received += tls.read(65536)
            except ssl.SSLWantReadError:
                continue
        return received[-6:]


async def test_a_head_that_comes_byte_by_byte(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        for asked, answer in (
            (b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n" + GET, b"plain inside"),
            (b"GET http://api.example.com/a HTTP/1.1\r\nHost: x\r\n\r\n", b"absolute"),
        ):
            wire = await dial(server)
            for at in range(len(asked)):
                wire.send(asked[at : at + 1])
                await asyncio.sleep(0.001)
            await wire.until(answer)


async def test_the_leaf_is_for_the_name_that_the_client_asks_for(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, "10.0.0.9:443", name="api.example.com")
        wire.send(GET)
        received = await wire.until(b"}")
        # the CONNECT is whom the request is for; the name chose only the certificate
        assert b"https://10.0.0.9/a is not in the recording" in received


HOSTS = ("127.0.0.1", "[::1]", "xn--bcher-kva.example", f"{'a' * 63}.example")


@pytest.mark.parametrize("host", HOSTS)
async def test_leaves_for_every_kind_of_host(place: Place, host: str) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, f"{host}:443", name=host.strip("[]"))
        wire.send(GET)
        assert b" 422 " in await wire.until(b"}")


async def test_origin_form_finds_whom_it_was_recorded_for(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        for answer in (b"secure", b"plain inside", b"absolute"):
            wire.send(b"GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await wire.until(answer)
        report = await server.stop(0)
        assert (report.exit_code, report.counts["matched"]) == (0, 3)


async def test_tls_straight_to_the_server_is_a_base_url_too(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        context = ssl.create_default_context(cafile=place.trusted)
        loop = asyncio.get_running_loop()
        _, wire = await loop.create_connection(Wire, "127.0.0.1", server.port, ssl=context, server_hostname="localhost")
        wire.send(GET)
        await wire.until(b"secure")


NO_HTTP = (
    b"CONNECT\r\n\r\n",
    b"CONNECT  HTTP/1.1\r\n\r\n",
    b"CONNECT h:0 HTTP/1.1\r\n\r\n",
    b"\x00\x01\x02\r\n\r\n",
    b"X" * 9 + b"\r\n\r\n",
)


@pytest.mark.parametrize("garbage", NO_HTTP)
async def test_what_is_no_http_is_refused_and_counted(place: Place, garbage: bytes) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(garbage)
        assert await wire.end() == "closed"
        assert wire.received.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))
        await server.stop(0)
        assert server.clients.malformed == 1


async def test_connections_without_a_word_do_no_harm(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        for opening in (b"", b"CONN", b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n", b"GET / HT"):
            wire = await dial(server)
            wire.send(opening)
            await asyncio.sleep(0.05)
            wire.close()
        quiet = await dial_through(server, place, "api.example.com:443")
        quiet.close()
        await asyncio.sleep(0.1)
        wire = await dial_through(server, place, "api.example.com:443")
        wire.send(GET)
        await wire.until(b"secure")
        report = await server.stop(0)
        assert "a client closed its connection without a request" in report.text()


async def test_a_connect_that_failed_fails_again_in_its_turn(place: Place) -> None:
    def failing(recording: Recording) -> None:
        recording.get("https://api.example.com/a", b"first")
        recording.refuse_connect("api.example.com", 443)
        recording.get("https://api.example.com/a", b"second")

    async with place.replaying(place.record(failing)) as server:
        for answer in (b"first", b"", b"second"):
            if answer:
                wire = await dial_through(server, place, "api.example.com:443")
                wire.send(GET)
                await wire.until(answer)
                wire.close()
            else:
                refused = await dial(server)
                refused.send(b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n")
                assert await refused.end() == "closed"
                assert refused.received.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
        report = await server.stop(0)
        assert (report.exit_code, report.counts["matched"]) == (0, 3)


async def test_a_client_that_offers_only_http_2_is_named(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial_through(server, place, "api.example.com:443", protocols=("h2",))
        wire.close()
        report = await server.stop(0)
        assert "a client insists on HTTP/2, which a replay does not speak: api.example.com (1)" in report.text()


async def test_a_busy_port_is_said_plainly(place: Place) -> None:
    run = place.record(tell)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CannotListen, match=r"cannot listen on 127\.0\.0\.1 port"):
            async with place.replaying(run, ReplayOptions(listen_port=taken.getsockname()[1])):
                pass
    with Reader.open(place.store, place.keys) as reader:
        assert reader.find("last:replay").reason == "operator"


def test_leaves_cover_the_recording_and_today_and_carry_our_own_key(place: Place) -> None:
    recorded, now = datetime(2020, 5, 1, tzinfo=UTC), datetime.now(UTC)
    certificates = Certificates(place.authority, recorded, now)
    assert certificates.context("a.example") is certificates.context("a.example")
    terms = certificates.terms
    assert terms.not_before == recorded - timedelta(days=2)
    assert terms.not_after == now + timedelta(days=30)
    assert certificates.key.public_key() != place.authority.key.public_key()


@pytest.mark.parametrize("times", [0, 1, 3])
async def test_a_connect_that_failed_may_be_optional(place: Place, times: int) -> None:
    def failing(recording: Recording) -> None:
        recording.refuse_connect("plugins.example.com", 443)

    rule = "CONNECT plugins.example.com/"
    async with place.replaying(place.record(failing), ReplayOptions(optional=[rule])) as server:
        for _ in range(times):
            refused = await dial(server)
            refused.send(b"CONNECT plugins.example.com:443 HTTP/1.1\r\n\r\n")
            await refused.end()
            assert refused.received.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
        report = await server.stop(0)
    assert (report.exit_code, report.counts["optional"]) == (0, times)
    assert report.document["allowed"] == ({rule: times} if times else {})


async def test_socks_leads_to_the_same(place: Place) -> None:
    async with place.replaying(place.record(tell)) as server:
        wire = await dial(server)
        wire.send(b"\x05\x01\x00")
        await wire.until(b"\x05\x00")
        wire.send(b"\x05\x01\x00\x03\x0fapi.example.com\x01\xbb" + GET)
        await wire.until(b"plain inside")
        for sent, told in ((b"\x05\x01\x01", b"\x05\xff"), (b"\x05\x01\x00\x05\x02\x00\x01", reply(7))):
            other = await dial(server)
            other.send(sent)
            await other.until(told)
