"""What was made for the last connection to a server serves the next one, and nothing else."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from mitmproxy.addons.tlsconfig import TlsConfig

from addons import handshakes
from addons.handshakes import kept
from tests.addons.raw import ANSWER_S_MAX, served, tunnelled
from tests.addons.recording import Recording, recording


class Server:
    """A server whose certificate can be changed, and which speaks HTTP/1.1 where it is asked."""

    def __init__(self) -> None:
        self._authority = trustme.CA()
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.set_alpn_protocols(["http/1.1"])

    def trusted(self, folder: Path) -> Path:
        path = folder / "server-root.pem"
        self._authority.cert_pem.write_to_path(str(path))
        return path

    def show(self, *names: str) -> None:
        self._authority.issue_cert(*names).configure_cert(self.context)

    async def speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")


@asynccontextmanager
async def speaking(folder: Path, server: Server, *, inline: bool = True) -> AsyncIterator[tuple[Recording, int]]:
    roots = server.trusted(folder)
    async with (
        served(server.speak, server.context) as port,
        recording(folder, upstream_ca=roots, inline_hooks=inline) as made,
    ):
        yield made, port


async def seen(made: Recording, port: int, name: str = "localhost", *offers: str) -> tuple[set[str], str | None]:
    """The names that an agent is shown, and the protocol that is chosen of those that it offers."""
    trusting = ssl.create_default_context(cafile=str(made.authority))
    if offers:
        trusting.set_alpn_protocols(offers)
    async with tunnelled(made.recorder.port, f"localhost:{port}") as (reader, writer), asyncio.timeout(ANSWER_S_MAX):
        await writer.start_tls(trusting, server_hostname=name)
        secured: ssl.SSLObject = writer.get_extra_info("ssl_object")
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await reader.read()).endswith(b"ok")
        shown = x509.load_der_x509_certificate(secured.getpeercert(binary_form=True) or b"")
        names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return set(names.get_values_for_type(x509.DNSName)), secured.selected_alpn_protocol()


async def test_a_server_that_is_known_costs_no_certificate_and_another_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_for: list[str | None] = []
    make = TlsConfig.get_cert

    def making(self: TlsConfig, at: object) -> object:
        made_for.append(at.client.sni)  # type: ignore[attr-defined]
        return make(self, at)  # type: ignore[arg-type]

    monkeypatch.setattr(TlsConfig, "get_cert", making)
    server = Server()
    server.show("localhost", "one.test")
    async with speaking(tmp_path, server) as (made, port):
        for _ in range(3):
            assert (await seen(made, port))[0] == {"localhost", "one.test"}
        assert made_for == ["localhost"]
        assert (await seen(made, port, "one.test"))[0] == {"localhost", "one.test"}
        server.show("localhost", "two.test")
        assert (await seen(made, port))[0] == {"localhost", "two.test"}
        assert made_for == ["localhost", "one.test", "localhost"]
        shown = {exchange.response and exchange.response.tls for exchange in made.exchanges()}
    assert len(shown) == 2


async def test_what_is_chosen_is_chosen_for_each_connection(tmp_path: Path) -> None:
    server = Server()
    server.show("localhost")
    async with speaking(tmp_path, server) as (made, port):
        chosen = [(await seen(made, port, "localhost", *offers))[1] for offers in ((), ("h2", "http/1.1"), (), ("h2",))]
    assert chosen == [None, "http/1.1", None, None]


async def test_a_recorder_without_short_ways_shows_the_same(tmp_path: Path) -> None:
    server = Server()
    server.show("localhost", "one.test")
    async with speaking(tmp_path, server, inline=False) as (made, port):
        assert await seen(made, port, "localhost", "http/1.1") == ({"localhost", "one.test"}, "http/1.1")


def test_no_more_is_kept_than_there_is_room_for() -> None:
    known: dict[int, int] = {}
    for number in range(handshakes.KEPT_MAX + 1):
        assert kept(known, number, -number) == -number
    assert known == {handshakes.KEPT_MAX: -handshakes.KEPT_MAX}
