"""Every client that people use is recorded and replayed as it is, over TLS: it and the server notice nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.scenarios.kept import kept, proven
from tests.support.authority import Authority, ServerCertificate
from tests.support.command import Command, Said
from tests.support.git_server import git_serving
from tests.support.processes import running_module
from tests.support.provider import Options, Provider, serving

AGENT = str(Path(__file__).with_name("many_clients.py"))
CLIENTS = (
    "curl",
    "curl-plain",
    "curl-upload",
    "wget",
    "git",
    "requests",
    "requests-plain",
    "urllib",
    "httpx",
    "httpx-h2",
    "openai",
    "anthropic",
)

type Got = Mapping[str, str]
type Heads = list[bytes]


@dataclass(frozen=True, slots=True)
class Story:
    """What the clients got and the servers saw: without edgetape, recorded, and replayed with the servers gone."""

    command: Command
    direct: Got
    direct_heads: Heads
    recorded: Got
    recorded_heads: Heads
    replayed: Got
    replay: Said


@pytest.fixture(scope="module")
def story(
    tmp_path_factory: pytest.TempPathFactory, upstream_authority: Authority, upstream_certificate: ServerCertificate
) -> Story:
    folder = tmp_path_factory.mktemp("clients")
    command, tls = Command(folder), (upstream_certificate.certificate, upstream_certificate.key)
    with ExitStack() as servers:
        over_tls = servers.enter_context(serving(Options(tls=tls)))
        plain = servers.enter_context(serving())
        h2 = servers.enter_context(running_module("tests.support.h2_echo", "--tls", *map(str, tls)))
        git = ""
        if shutil.which("git"):
            git = servers.enter_context(git_serving(repository(folder / "repositories"), tls)).url
        url = f"https://localhost:{over_tls.port}"
        agent = [sys.executable, AGENT, url, plain.url, f"https://localhost:{h2.port}", git, str(folder)]
        trusted = trusting(command, upstream_authority.root)
        direct = subprocess.run(agent, env=trusted, capture_output=True, text=True, timeout=120, check=True)
        direct_heads = heads(over_tls, plain)
        recorded = command.run("record", "--upstream-ca", str(upstream_authority.root), "--", *agent)
        recorded_heads = heads(over_tls, plain)
    replayed = command.run("replay", "last")
    return Story(
        command,
        json.loads(direct.stdout),
        direct_heads,
        json.loads(recorded.out),
        recorded_heads,
        json.loads(replayed.out),
        replayed,
    )


def repository(folder: Path) -> Path:
    """A folder with one bare repository that has one commit, the same at every time."""
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in IDENTITY.items()}
    work, bare = folder / "work", folder / "contract.git"
    work.mkdir(parents=True)
    (work / "clause.txt").write_text("Either side may end it.\n" * 200)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one clause"]):
        subprocess.run(["git", "-C", str(work), *words], env={**os.environ, "HOME": str(folder), **who}, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    return folder


IDENTITY = {"NAME": "test", "EMAIL": "test@example.com", "DATE": "2026-01-01T00:00:00Z"}


def trusting(command: Command, root: Path) -> dict[str, str]:
    """An environment without a proxy whose clients trust the servers of the test."""
    wgetrc = command.folder / "wgetrc"
    wgetrc.write_text(f"ca_certificate={root}\n")
    names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO")
    return {**command.environment, **dict.fromkeys(names, str(root)), "WGETRC": str(wgetrc)}


def heads(*providers: Provider) -> Heads:
    """Every request head that came, byte for byte, and forgets them."""
    seen = [request.head for provider in providers for request in provider.seen()]
    for provider in providers:
        provider.forget()
    return seen


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_the_same_directly_recorded_and_replayed(client: str, story: Story) -> None:
    if client not in story.direct:
        pytest.skip(f"{client.partition('-')[0]} is not installed")
    assert "Error" not in story.direct[client][:60]
    assert comparable(client, story.recorded[client]) == comparable(client, story.direct[client])
    assert story.replayed[client] == story.recorded[client]


def comparable(client: str, echoed: str) -> str:
    """An answer without what a proxy may change in the request that it echoes: it answers `Expect` by itself (RFC
    9110, section 10.1.1), and orders the pseudo-header fields of HTTP/2 as it likes (RFC 9113, section 8.3).
    """
    if client == "httpx-h2":
        said = json.loads(echoed)
        return json.dumps({**said, "headers": sorted(said["headers"])})
    return echoed.replace(',["Expect","100-continue"]', "") if client == "curl-upload" else echoed


def test_the_servers_see_every_head_as_without_us(story: Story) -> None:
    assert len(story.recorded_heads) > 8
    assert story.recorded_heads == story.direct_heads


def test_the_replay_is_clean_and_nothing_is_left_over(story: Story) -> None:
    assert story.replay.code == 0, story.replay.err
    assert story.replay.verdict.startswith("REPLAYED: all ")


def test_the_store_holds_what_crossed_the_wire_and_proves_it(story: Story) -> None:
    proven(story.command.store)
    recorded = {one.place.split("/", 3)[3]: one for one in kept(story.command.store)}
    assert recorded["curl"].body.decode() == story.direct["curl"].removeprefix("0 ")
    assert recorded["curl-upload"].sent == b"line\n" * 5000
    assert recorded["requests"].body.startswith(b"\x1f\x8b")
    assert recorded["echo"].http_version == "HTTP/2.0"
    assert {one.ended for one in recorded.values()} == {"complete"}
