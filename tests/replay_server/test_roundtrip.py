"""An agent sees in a replay what it saw when the real recorder recorded it, for every fault and framing."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from addons.options import RecorderOptions
from addons.recorder import Recorder
from addons.runs import run_draft
from replay_server.server import ReplayServer
from store.drafting.desk import Desk
from tests.replay_server.recording import Place
from tests.support.authority import Authority, ServerCertificate
from tests.support.provider import Options, serving

AGENT = """
import sys, httpx
base, failures = sys.argv[1], (httpx.TransportError,)
paths = ["reset", "close", "reset-after/100", "close-after/100", "reset-after/40000", "bad-chunk",
         "429?retry_after=3", "503", "204", "304", "no-length", "chunked", "chunks/1,7,100", "gzip", "deflate", "br",
         "zstd", "big/300000?chunked", "big/3000000", "half-close", "trailers", "early-hints", "redirect?to=/x",
         "slow-sse?n=3&ms=10"]
with httpx.Client(timeout=20, verify=True) as client:
    for method in ("GET", "POST", "HEAD"):
        for path in [f"/fault/{path}" for path in paths] + ["/caf%C3%A9?x=%20+&y", "/a//b/../c?q=[1]|2"]:
            body = b'{"a": 1}' if method == "POST" else None
            try:
                with client.stream(method, base + path, content=body) as answer:
                    raw = b"".join(answer.iter_raw())
                    if answer.status_code == 502:
                        raise httpx.ReadError("bad gateway")
                    framing = (b"transfer-encoding", b"connection", b"content-length")
                    headers = [pair for pair in answer.headers.raw if pair[0].lower() not in framing]
                    print(method, path, answer.status_code, answer.reason_phrase, raw[:80], len(raw), headers)
            except failures:
                print(method, path, "failed")
"""


async def run(base: str, name: str, port: int, trusted: Path) -> list[str]:
    proxy = f"http://{name}:token@127.0.0.1:{port}"
    names = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")
    variables = {**dict.fromkeys(names, proxy), "SSL_CERT_FILE": str(trusted), "PATH": os.environ["PATH"]}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", AGENT, base, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode == 0, err.decode()
    return out.decode().splitlines()


async def record(place: Place, base: str, root: Path) -> tuple[str, list[str]]:
    writer = place.writer()
    try:
        recorder = Recorder(Desk(writer), RecorderOptions(confdir=place.authority.folder, upstream_ca=root))
        await recorder.start()
        run_id = recorder.open_run(run_draft("", None))
        seen = await run(base, run_id, recorder.port, place.authority.certificate_path)
        await recorder.close_run(run_id, "agent_exit", 0)
        await recorder.stop()
        return run_id, seen
    finally:
        writer.close()


@pytest.mark.parametrize("secure", [True, False])
async def test_an_agent_sees_twice_the_same(
    place: Place, secure: bool, upstream_authority: Authority, upstream_certificate: ServerCertificate
) -> None:
    tls = (upstream_certificate.certificate, upstream_certificate.key) if secure else None
    with serving(Options(tls=tls)) as provider:
        run_id, recorded = await record(place, provider.url, upstream_authority.root)
    async with place.replaying(run_id) as server:
        assert isinstance(server, ReplayServer)
        replayed = await run(provider.url, run_id, server.port, place.authority.certificate_path)
        report = await server.stop(0)
    assert replayed == recorded
    assert len(recorded) == 78
    assert sum(line.endswith("failed") for line in recorded) < 20
    assert (report.exit_code, report.counts["matched"]) == (0, 78), report.text()
