"""HTTP/2 and gRPC over TLS: streams side by side, frames and trailers kept, one that fails takes no other with it."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent import futures
from pathlib import Path

import grpc
import httpx
import pytest
import pytest_asyncio
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, ResponseReceived

from tests.addons.raw import tunnelled, until
from tests.addons.recording import Recording, recording
from tests.support.authority import ServerCertificate
from tests.support.grpc_echo import CHAT, STREAM, UNARY, Echo
from tests.support.h2_echo import EchoProtocol

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made(tmp_path_factory: pytest.TempPathFactory, upstream_root: Path) -> AsyncIterator[Recording]:
    async with recording(tmp_path_factory.mktemp("multiplexed"), upstream_ca=upstream_root) as made:
        yield made


@pytest.fixture(scope="module")
def grpc_port(upstream_certificate: ServerCertificate) -> Iterator[int]:
    """A gRPC server over TLS on threads of this process."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), handlers=(Echo(),))
    pair = (upstream_certificate.key.read_bytes(), upstream_certificate.certificate.read_bytes())
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    server.start()
    yield port
    server.stop(None).wait(5)


def talk(made: Recording, port: int) -> tuple[bytes, list[bytes], list[bytes], object]:
    """One call of each kind, and one of a method that there is not."""
    credentials = grpc.ssl_channel_credentials(made.authority.read_bytes())
    options = [("grpc.http_proxy", made.proxy)]
    with grpc.secure_channel(f"localhost:{port}", credentials, options=options) as channel:
        one = channel.unary_unary(UNARY)(b"hello", timeout=20)
        many = list(channel.unary_stream(STREAM)(b"3:hi", timeout=20))
        both = list(channel.stream_stream(CHAT)(iter([b"a", b"", b"b" * 100_000]), timeout=20))
        try:
            code = channel.unary_unary("/echo.Echo/None")(b"", timeout=20)
        except grpc.RpcError as error:
            code = error.code()
    return one, many, both, code


def message(content: bytes) -> bytes:
    """The frame of a gRPC message."""
    return b"\0" + len(content).to_bytes(4, "big") + content


async def test_grpc_over_tls_is_recorded_as_frames_with_its_status(made: Recording, grpc_port: int) -> None:
    spoken = await asyncio.to_thread(talk, made, grpc_port)
    assert spoken == (b"hello", [b"1 hi", b"2 hi", b"3 hi"], [b"a", b"", b"b" * 100_000], grpc.StatusCode.UNIMPLEMENTED)
    found = {str(one.facts.path): one for one in made.exchanges()}
    sent = {path: made.upload(one)[1] if one.upload else made.request_body(one) for path, one in found.items()}
    got = {path: made.response_body(one) for path, one in found.items()}
    assert (sent[UNARY], got[UNARY]) == (message(b"hello"), message(b"hello"))
    assert got[STREAM] == b"".join(message(b"%d hi" % number) for number in (1, 2, 3))
    assert sent[CHAT] == got[CHAT] == message(b"a") + message(b"") + message(b"b" * 100_000)
    assert got["/echo.Echo/None"] == b""
    for path, one in found.items():
        assert one.response is not None
        told: Mapping[str, str] = dict([*(one.response.headers or []), *(one.response.trailers or [])])  # type: ignore[misc]
        assert told["grpc-status"] == ("12" if path.endswith("None") else "0")


HELD = bytes(range(256)) * 2000  # as long as goes out in several turns


class Narrow(EchoProtocol):
    """A server that takes twelve streams at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._http.local_settings.max_concurrent_streams = 12
        super().connection_made(transport)


async def test_sixty_streams_where_twelve_are_allowed_and_one_that_is_reset(
    made: Recording, upstream_certificate: ServerCertificate
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_certificate.certificate, upstream_certificate.key)
    context.set_alpn_protocols(["h2"])
    server = await asyncio.get_running_loop().create_server(Narrow, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    trust = ssl.create_default_context(cafile=str(made.authority))
    async with (
        server,
        httpx.AsyncClient(
            proxy=made.proxy, verify=trust, http2=True, timeout=30, headers={"X-Edgetape-Run": "sixty"}
        ) as client,
    ):
        paths = ["/reset?after=10", *(f"/stream?n=2&ms=5&turn={turn}" for turn in range(58))]
        asked = [*(client.get(url + path) for path in paths), client.post(f"{url}/stream?n=2&ms=5", content=HELD)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(answers[0], httpx.RemoteProtocolError)
    assert all(isinstance(one, httpx.Response) and one.content == b"data: 0\n\ndata: 1\n\n" for one in answers[1:])
    await until(lambda: all(one.outcome is not None for one in made.exchanges("sixty")))
    ends = Counter(one.response.ended for one in made.exchanges("sixty") if one.response)
    assert ends == {"complete": 59, "reset": 1}
    assert HELD in [made.request_body(one) for one in made.exchanges("sixty") if one.facts.body is not None]


LONG = 12 << 20


class Fast(asyncio.Protocol):
    """A server that sends a long body to `/long` as fast as it is given room for it, and a word to anything else."""

    sent = 0

    def __init__(self) -> None:
        self.http = H2Connection(H2Configuration(client_side=False))
        self.long: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.http.initiate_connection()
        self.go_on()

    def data_received(self, data: bytes) -> None:
        for event in self.http.receive_data(data):
            if isinstance(event, RequestReceived):
                self.http.send_headers(event.stream_id, [(":status", "200"), ("alt-svc", 'h3=":443"')])
                if (b":path", b"/long") in event.headers:
                    self.long = event.stream_id
                else:
                    self.http.send_data(event.stream_id, b"short", end_stream=True)
        self.go_on()

    def go_on(self) -> None:
        while self.long and Fast.sent < LONG and (room := self.http.local_flow_control_window(self.long)):
            piece = bytes(min(room, self.http.max_outbound_frame_size, LONG - Fast.sent))
            Fast.sent += len(piece)
            self.http.send_data(self.long, piece, end_stream=Fast.sent == LONG)
        self.transport.write(self.http.data_to_send())


class Slow:
    """A client by hand that takes nothing of `/long` until it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.http = H2Connection()
        self.reader, self.writer = reader, writer
        self.got: Counter[int] = Counter()
        self.headers: list[tuple[bytes, bytes]] = []
        self.http.initiate_connection()
        self.http.increment_flow_control_window(2 * LONG)  # of the connection, not of a stream

    def ask(self, path: str) -> int:
        stream = self.http.get_next_available_stream_id()
        self.http.send_headers(
            stream, [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", path)], True
        )
        self.writer.write(self.http.data_to_send())
        return stream

    async def read(self, *takes: int) -> None:
        for event in self.http.receive_data(await self.reader.read(65_536)):
            if isinstance(event, ResponseReceived):
                self.headers += event.headers
            if isinstance(event, DataReceived):
                self.got[event.stream_id] += len(event.data)
                if event.stream_id in takes and event.flow_controlled_length:
                    self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        self.writer.write(self.http.data_to_send())


async def test_a_server_gets_no_room_for_what_its_agent_does_not_take_and_other_streams_go_on(
    made: Recording, upstream_certificate: ServerCertificate
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_certificate.certificate, upstream_certificate.key)
    context.set_alpn_protocols(["h2"])
    server = await asyncio.get_running_loop().create_server(Fast, "127.0.0.1", 0, ssl=context)
    trust = ssl.create_default_context(cafile=str(made.authority))
    trust.set_alpn_protocols(["h2"])
    place = f"localhost:{server.sockets[0].getsockname()[1]}"
    async with server, tunnelled(made.recorder.port, place, "Proxy-Authorization: Basic c2xvdzp4") as (reader, writer):
        await writer.start_tls(trust, server_hostname="localhost")
        client = Slow(reader, writer)
        long = client.ask("/long")
        while client.got[long] < 65_535:
            await client.read()
        short = client.ask("/short")
        while not client.got[short]:
            await client.read(short)
        assert client.got[long] == 65_535
        assert Fast.sent < LONG / 2
        client.http.acknowledge_received_data(65_535, long)
        client.writer.write(client.http.data_to_send())
        async with asyncio.timeout(60):
            while client.got[long] < LONG:
                await client.read(long)
    assert b"alt-svc" not in dict(client.headers)
    await until(lambda: all(one.outcome is not None for one in made.exchanges("slow")))
    found = {str(one.facts.path): one for one in made.exchanges("slow")}
    assert made.response_body(found["/long"]) == bytes(LONG)
    short_answer = found["/short"].outcome
    assert short_answer is not None
    assert b"alt-svc" in repr(short_answer.facts).encode()
