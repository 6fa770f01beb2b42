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

from tests.addons.raw import until
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
        paths = ["/reset?after=10", *(f"/stream?n=2&ms=5&turn={turn}" for turn in range(59))]
        answers = await asyncio.gather(*(client.get(url + path) for path in paths), return_exceptions=True)
    assert isinstance(answers[0], httpx.RemoteProtocolError)
    assert all(isinstance(one, httpx.Response) and one.content == b"data: 0\n\ndata: 1\n\n" for one in answers[1:])
    await until(lambda: all(one.outcome is not None for one in made.exchanges("sixty")))
    ends = Counter(one.response.ended for one in made.exchanges("sixty") if one.response)
    assert ends == {"complete": 59, "reset": 1}
