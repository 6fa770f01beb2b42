"""An agent that does not trust our authority is noticed however it says so, and tunnelled from then on where asked."""

import asyncio
import os
import shutil
import ssl
from pathlib import Path

import pytest

from addons.distrust import Distrust
from addons.failures import Sureness, distrust
from addons.flows import Counts
from addons.listeners import Listeners
from addons.options import RecorderOptions
from addons.places import NoPlace, Places
from addons.run_tag import RunTag
from tests.addons.raw import get, intercepted, tunnelled, until
from tests.addons.recording import Recording, recording
from tests.addons.test_tunnel import tunnels
from tests.support.authority import make_authority
from tests.support.provider import Provider


@pytest.mark.parametrize(
    "message, sure",
    [
        ("The client does not trust the proxy's certificate for h (tlsv1 alert unknown ca)", "certain"),
        ("The client does not trust the proxy's certificate for h (ssl/tls alert bad certificate)", "certain"),
        ("The client may not trust the proxy's certificate for h (OpenSSL Error([...]))", "likely"),
        (
            "The client disconnected during the handshake. If this happens consistently for h, this may indicate"
            " that the client does not trust the proxy's certificate.",
            "likely",
        ),
        ("connection closed early", "no"),
        ("Client and mitmproxy cannot agree on a TLS version to use. You may need to ...", "no"),
        ("Cannot parse ClientHello: 00", "no"),
    ],
)
def test_what_mitmproxy_says_of_a_handshake_is_more_or_less_sure(message: str, sure: Sureness) -> None:
    assert distrust(message) == sure


@pytest.mark.parametrize(
    "pattern, host, port, within",
    [
        ("api.example", "API.example.", 443, True),
        ("api.example", "other.example", 443, False),
        ("*.example", "a.b.example", 8443, True),
        ("*.example", "example", 443, False),
        ("api.example:8443", "api.example", 443, False),
        ("api.example:8443", "api.example", 8443, True),
        ("[::1]:443", "::1", 443, True),
        ("[::1]", "[::1]", 80, True),
        ("bücher.example", "xn--bcher-kva.example", 443, True),
        ("*", "anything", 1, True),
        ("a.example", "a-example", 443, False),
    ],
)
def test_a_place_is_named_with_or_without_its_port(pattern: str, host: str, port: int, within: bool) -> None:
    assert Places.parse([pattern]).have(host, port) is within


@pytest.mark.parametrize("text", ["", " ", "http://api.example/", "api.example/x", "a:b", "a:70000", "u@h", "::1"])
def test_what_names_no_host_is_refused_and_never_means_all(text: str) -> None:
    with pytest.raises(NoPlace):
        Places.parse([text])
    assert not Places().have("api.example", 443)


def test_where_agents_are_to_fail_nothing_is_passed_through() -> None:
    options = RecorderOptions(Path())
    for tunnels_then, expected in ((False, False), (True, True)):
        known = Distrust(Counts(), RunTag(options, Listeners()), tunnels=tunnels_then)
        known._note(("h", 443), "h", 2)
        assert known.passes("h", 443) is expected
        assert not known.passes("h", 444)


async def run_client(made: Recording, *argv: str, **more: str) -> int:
    environment = {"HTTPS_PROXY": made.proxy, "PATH": os.environ["PATH"], **more}
    client = await asyncio.create_subprocess_exec(
        *argv, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    return await client.wait()


NODE = """
const net = require("net"), tls = require("tls"), [, , proxy, port] = process.argv;
const socket = net.connect(+proxy, "127.0.0.1", () => socket.write(`CONNECT localhost:${port} HTTP/1.1\\r\\n\\r\\n`));
socket.once("data", () => {
  const inside = tls.connect({ socket, servername: "localhost" }, () => process.exit(0));
  inside.on("error", () => process.exit(1));
});
"""


@pytest.mark.parametrize("client, attempts", [("asyncio", 2), ("curl", 1), ("node", 2)])
async def test_a_client_that_distrusts_us_fails_and_is_tunnelled_the_next_time(
    tmp_path: Path, tls_provider: Provider, upstream_root: Path, client: str, attempts: int
) -> None:
    url, root = f"https://localhost:{tls_provider.port}/", str(upstream_root)

    async def ask(made: Recording) -> bool:
        if client == "node":
            script = tmp_path / "client.cjs"
            script.write_text(NODE)
            argv = ("node", str(script), str(made.recorder.port), str(tls_provider.port))
            return await run_client(made, *argv, NODE_EXTRA_CA_CERTS=root) == 0
        if client == "curl":
            return await run_client(made, "curl", "-s", "--cacert", root, url) == 0
        try:
            async with intercepted(made.recorder.port, f"localhost:{tls_provider.port}", upstream_root) as (reader, to):
                to.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                return b" 200 OK" in await reader.read()
        except ssl.SSLError:
            return False

    if client != "asyncio" and shutil.which(client) is None:
        pytest.skip(f"needs {client}")
    async with recording(tmp_path, upstream_ca=upstream_root, on_distrust="tunnel") as made:
        for tried in range(1, attempts + 1):
            assert not await ask(made)
            await until(lambda tried=tried: made.recorder.counts.distrusted == {"localhost": tried})  # type: ignore[misc]
        assert await ask(made)
        await until(lambda: len(tunnels(made)) == 2)
        assert getattr(tunnels(made)[0], "reason", "") == "pinned"
        assert made.exchanges() == []


async def test_a_client_that_leaves_right_after_the_handshake_is_counted_and_one_that_asks_is_not(
    tmp_path: Path, tls_provider: Provider, upstream_root: Path
) -> None:
    place = f"localhost:{tls_provider.port}"
    async with recording(tmp_path, upstream_ca=upstream_root) as made:
        async with intercepted(made.recorder.port, place, made.authority) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            await reader.read()
        async with intercepted(made.recorder.port, place, made.authority):
            pass
        await until(lambda: made.recorder.counts.distrusted == {"localhost": 1})


async def test_what_is_named_passes_unopened_by_connect_and_by_plain_requests(
    tmp_path: Path, provider: Provider, tls_provider: Provider, upstream_root: Path
) -> None:
    stranger = make_authority(tmp_path / "stranger")
    places = Places.parse([f"localhost:{tls_provider.port}", f"127.0.0.1:{provider.port}"])
    async with recording(tmp_path, upstream_ca=stranger.root, passthrough=places) as made:
        async with tunnelled(made.recorder.port, f"localhost:{tls_provider.port}") as (reader, writer):
            await writer.start_tls(ssl.create_default_context(cafile=str(upstream_root)), server_hostname="localhost")
            writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert b" 200 OK" in await reader.read()
        async with tunnelled(made.recorder.port, f"127.0.0.1:{provider.port}") as (reader, writer):
            writer.write(get("/inside"))
            assert b" 200 OK" in await reader.read()
        await until(lambda: len(tunnels(made)) == 4)
        assert {getattr(fact, "reason", "excluded") for fact in tunnels(made)} == {"excluded"}
        assert (made.exchanges(), made.recorder.counts.distrusted) == ([], {})
