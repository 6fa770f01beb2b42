"""Interim answers over HTTP/2 reach the agent before the final one, and are kept with it."""

import asyncio
import ssl
from pathlib import Path

from h2.connection import H2Connection
from h2.events import DataReceived, InformationalResponseReceived, ResponseReceived, StreamEnded

from addons.interim import spelled
from tests.addons.raw import tunnelled, until
from tests.addons.recording import recording
from tests.support.authority import ServerCertificate
from tests.support.h2_echo import EchoProtocol

HINTS = [(b":status", b"103"), (b"link", b"</style.css>; rel=preload")]


class Hinting(EchoProtocol):
    """A server that says something before it answers, and a 100 to whoever expects one."""

    def begun(self, stream: int, headers: list[tuple[str, str]]) -> None:
        if ("expect", "100-continue") in headers:
            self._http.send_headers(stream, [(":status", "100")])
        self._http.send_headers(stream, HINTS)


async def test_interim_answers_over_http2_pass_on_and_are_kept(
    tmp_path: Path, upstream_certificate: ServerCertificate, upstream_root: Path
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_certificate.certificate, upstream_certificate.key)
    context.set_alpn_protocols(["h2"])
    server = await asyncio.get_running_loop().create_server(Hinting, "127.0.0.1", 0, ssl=context)
    place = f"localhost:{server.sockets[0].getsockname()[1]}"
    async with server, recording(tmp_path, upstream_ca=upstream_root) as made:
        trust = ssl.create_default_context(cafile=str(made.authority))
        trust.set_alpn_protocols(["h2"])
        async with tunnelled(made.recorder.port, place) as (reader, writer):
            await writer.start_tls(trust, server_hostname="localhost")
            http = H2Connection()
            http.initiate_connection()
            for method, fields in (("GET", []), ("POST", [("expect", "100-continue")])):
                stream = http.get_next_available_stream_id()
                head = [(":method", method), (":scheme", "https"), (":authority", place), (":path", "/"), *fields]
                http.send_headers(stream, head, end_stream=method == "GET")
                said = await heard(http, reader, writer, stream)
                assert said == ([HINTS] if method == "GET" else [[(b":status", b"100")], HINTS])
        await until(lambda: len(made.exchanges()) == 2 and all(one.response for one in made.exchanges()))
        kept = [one.response.interim for one in made.exchanges() if one.response]
    hints = [[":status", "103"], ["link", "</style.css>; rel=preload"]]
    assert kept == [hints, [[":status", "100"], *hints]]


async def heard(
    http: H2Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: int
) -> list[list[tuple[bytes, bytes]]]:
    """The interim answers that came before the answer, whose body is the request's own."""
    said: list[list[tuple[bytes, bytes]]] = []
    answered = False
    writer.write(http.data_to_send())
    async with asyncio.timeout(30):
        while True:
            for event in http.receive_data(await reader.read(65_536)):
                if isinstance(event, InformationalResponseReceived):
                    assert not answered
                    said.append([(bytes(name), bytes(value)) for name, value in event.headers])
                    if said[-1] == [(b":status", b"100")]:
                        http.send_data(stream, b"hello", end_stream=True)
                elif isinstance(event, ResponseReceived):
                    answered = True
                elif isinstance(event, DataReceived):
                    http.acknowledge_received_data(event.flow_controlled_length, stream)
                elif isinstance(event, StreamEnded):
                    return said
            writer.write(http.data_to_send())


def test_a_head_of_http2_is_spelled_as_http1_does() -> None:
    assert spelled(HINTS) == b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n"
    assert spelled([(b":status", b"199")]) == b"HTTP/1.1 199 \r\n\r\n"
