"""The echo servers and the forward proxy answer real clients, so a failure elsewhere is not theirs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.authority import Authority, ServerCertificate
from tests.support.processes import ROOT, running_module
from tests.support.provider import Provider


def run(*command: str, **env: str) -> str:
    """Run a command in the checkout with a bare environment and give its stdout."""
    bare = {"PATH": "/usr/bin:/bin", **env}
    done = subprocess.run(command, cwd=ROOT, env=bare, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def module(name: str, *words: str, **env: str) -> str:
    return run(sys.executable, "-m", f"tests.support.{name}", *words, **env)


@pytest.fixture
def tls(upstream_certificate: ServerCertificate) -> tuple[str, ...]:
    return ("--tls", str(upstream_certificate.certificate), str(upstream_certificate.key))


def test_h2_echoes_over_http_2_alone(upstream_authority: Authority, tls: tuple[str, ...]) -> None:
    with running_module("tests.support.h2_echo", *tls) as server:
        curl = ("curl", "-sS", "--http2", "-i", "--cacert", str(upstream_authority.root))
        answer = run(*curl, "-d", "hello", f"{server.url}/a")
        events = run(*curl, f"{server.url}/stream?n=3&ms=10")
    assert answer.startswith("HTTP/2 200")
    assert '"body": "hello"' in answer
    assert events.endswith("data: 0\n\ndata: 1\n\ndata: 2\n\n")


def test_grpc_echoes_with_and_without_tls(upstream_authority: Authority, tls: tuple[str, ...]) -> None:
    with running_module("tests.support.grpc_echo", "serve") as server:
        assert module("grpc_echo", "call", str(server.ready["address"]), "hi") == "hi\n"
    with running_module("tests.support.grpc_echo", "serve", *tls) as server:
        trust = ("--tls", "--ca", str(upstream_authority.root))
        called = module("grpc_echo", "call", str(server.ready["address"]), "hi", "--count", "2", *trust)
    assert called == "1 hi\n2 hi\n"


@pytest.mark.parametrize("name", ["grpc_echo", "websocket_echo"])
def test_a_server_and_its_client_run_in_one_process_tree(name: str) -> None:
    assert "hello" in module(name, "both", "hello")


def test_websocket_echoes_over_tls(upstream_authority: Authority, tls: tuple[str, ...]) -> None:
    with running_module("tests.support.websocket_echo", "serve", *tls) as server:
        trust = {"SSL_CERT_FILE": str(upstream_authority.root)}
        assert module("websocket_echo", "call", server.url, "a", "b", **trust) == "echo: a\necho: b\n"


def test_the_forward_proxy_wants_its_credentials_and_names_what_it_carried(provider: Provider) -> None:
    with running_module("tests.support.forward_proxy", "--require", "user:word") as proxy:
        refused = run("curl", "-sS", "-i", "-x", proxy.url, f"{provider.url}/x")
        carried = run("curl", "-sS", "-x", proxy.url.replace("//", "//user:word@"), f"{provider.url}/x?y=1")
        said = proxy.stderr()
    assert refused.startswith("HTTP/1.1 407 ")
    assert '"target":"/x?y=1"' in carried
    assert said.count("/x?y=1") == 1
    assert len(provider.seen()) == 1
