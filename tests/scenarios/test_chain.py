"""The user's own proxy becomes the recorder's: everything leaves through it but what NO_PROXY names."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.scenarios.kept import kept, proven
from tests.support.command import Command
from tests.support.processes import Running, running_module
from tests.support.provider import Provider

PASSWORD = "open-sesame-7f3a9c"
AGENT = """
import sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=30).status)
    except urllib.error.HTTPError as error:
        print(error.code)
    except OSError as error:
        print(error)
"""


def lines(proxy: Running) -> list[str]:
    """The request lines that the second proxy got."""
    return [json.loads(line)["line"] for line in proxy.stderr().splitlines()]


def test_a_chain_through_a_second_proxy_with_a_password_and_no_proxy(
    tmp_path: Path, provider: Provider, tls_provider: Provider, upstream_root: Path
) -> None:
    with running_module("tests.support.forward_proxy", "--require", f"me:{PASSWORD}") as second:
        chained = f"http://me:{PASSWORD}@127.0.0.1:{second.port}"
        variables = {"HTTPS_PROXY": chained, "http_proxy": chained, "NO_PROXY": f"127.0.0.1:{provider.port},elsewhere"}
        command = Command(tmp_path, variables)
        secure, plain = f"https://localhost:{tls_provider.port}", f"http://localhost:{provider.port}"
        urls = (secure + "/chained", plain + "/chained", provider.url + "/direct")
        agent = [sys.executable, "-c", AGENT, *urls]
        recorded = command.run("record", "--upstream-ca", str(upstream_root), "--", *agent)
        assert recorded.out.split() == ["200", "200", "200"], recorded.err
        assert lines(second) == [f"CONNECT localhost:{tls_provider.port} HTTP/1.1", f"GET {plain}/chained HTTP/1.1"]
    assert [one.place for one in kept(command.store)] == list(urls)
    assert [request.target for request in provider.seen()] == ["/chained", "/direct"]
    assert all(request.header("proxy-authorization") is None for request in (*provider.seen(), *tls_provider.seen()))
    proven(command.store)
    stored = b"".join(path.read_bytes() for path in command.store.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in stored
    replayed = command.run("replay", "last")
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


def test_a_second_proxy_that_refuses_is_a_recorded_failure_and_nothing_goes_past_it(
    tmp_path: Path, provider: Provider, tls_provider: Provider, upstream_root: Path
) -> None:
    with running_module("tests.support.forward_proxy", "--require", f"me:{PASSWORD}") as second:
        chained = f"http://127.0.0.1:{second.port}"
        command = Command(tmp_path, {"HTTPS_PROXY": chained, "HTTP_PROXY": chained})
        urls = (f"https://localhost:{tls_provider.port}/x", f"http://localhost:{provider.port}/y")
        agent = [sys.executable, "-c", AGENT, *urls]
        recorded = command.run("record", "--upstream-ca", str(upstream_root), "--", *agent)
        assert lines(second)[0] == f"CONNECT localhost:{tls_provider.port} HTTP/1.1"
    assert recorded.out.split() == ["502", "407"], recorded.err
    assert provider.seen() == tls_provider.seen() == ()
    failed, refused = kept(command.store)
    assert (failed.status, failed.failed) == (None, "connect")
    assert refused.status == 407
    assert "407 Proxy Authentication Required" in command.run("show", "last", "1").out
    proven(command.store)


def test_a_proxy_that_cannot_be_used_is_said_to_the_agent_and_at_the_end(tmp_path: Path, provider: Provider) -> None:
    command = Command(tmp_path, {"ALL_PROXY": "socks5://127.0.0.1:1"})
    agent = [sys.executable, "-c", AGENT, "https://localhost:9/x", provider.url]
    said = command.run("record", "--", *agent)
    tunnel, plain = said.out.splitlines()
    assert "503" in tunnel
    assert plain == "503"
    assert said.code == 125
    assert said.err.startswith(
        "edgetape: warning: the proxy that is set is none of http:// or https:// (socks5): whatever"
    )
    assert "the recording is incomplete: the proxy that is set is none of http:// or https:// (socks5)" in said.err
    assert provider.seen() == ()
