"""Whose run an exchange belongs to, where many write into one store."""

from dataclasses import dataclass
from pathlib import Path

from addons.recorder import Recorder
from store.core.model import RunOpen
from store.core.tenant import Tenant
from tests.addons.raw import ask, get, tunnelled
from tests.addons.recording import Recording, recording
from tests.addons.test_run_tag import basic, paths
from tests.support.provider import Provider

TRACE = b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333%d-01"


def opened(made: Recording) -> list[RunOpen]:
    """Event 0 of every run, in the order in which they were opened."""
    with made.reader() as reader:
        facts = [reader.event(run.id, 0).facts for run in reversed(reader.runs())]
    return [fact for fact in facts if isinstance(fact, RunOpen)]


@dataclass(frozen=True, slots=True)
class Run:
    """A run as these tests look at it."""

    run: str
    name: str
    principal: object
    parent: object
    paths: list[object]


def made_runs(made: Recording) -> list[Run]:
    """Every run of the store."""
    with made.reader() as reader:
        runs = [(run.id, run.name, reader.event(run.id, 0).facts) for run in reader.runs()]
    return [
        Run(run, name, fact.principal, fact.parent, [each.facts.path for each in made.exchanges(run)])
        for run, name, fact in runs
        if isinstance(fact, RunOpen)
    ]


def extra_port(recorder: Recorder) -> int:
    """The port beside the proxy's."""
    return recorder._listeners.all[1].port


async def test_no_tenant_writes_into_another_s_run(tmp_path: Path, provider: Provider) -> None:
    tenants = (Tenant.of("token-of-research", "research"), Tenant.of("token-of-billing", "billing"))
    async with recording(tmp_path, tenants=tenants) as made:
        port = made.recorder.port

        async def say(path: str, token: str, *fields: bytes) -> bytes:
            return await ask(port, get(provider.url + path, basic("same", token), *fields))

        assert (await say("/r1", "token-of-research")).startswith(b"HTTP/1.1 200 ")
        assert (await say("/b1", "token-of-billing")).startswith(b"HTTP/1.1 200 ")
        assert (await say("/x", "token-of-nobody")).startswith(b"HTTP/1.1 407 ")
        research = next(run for run in made_runs(made) if run.principal == "research")
        # Neither by the id of another's run, nor as its child.
        await say("/b3", "token-of-billing", b"X-Edgetape-Run: kid", b"X-Edgetape-Parent-Run: " + research.run.encode())
        await say("/b2", "token-of-billing", b"X-Edgetape-Run: " + research.run.encode())
        runs = {(one.principal, one.name): one for one in made_runs(made)}
        assert runs["research", "same"].paths == ["/r1"]
        assert runs["billing", "same"].paths == ["/b1"]
        assert runs["billing", research.run].paths == ["/b2"]
        assert runs["billing", "kid"].parent is None
        async with tunnelled(port, f"127.0.0.1:{provider.port}", basic("same", "token-of-billing").decode()) as wire:
            wire[1].write(b"GET /b4 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            await wire[0].read()
        assert {(one.principal, one.name): one.paths for one in made_runs(made)}["billing", "same"] == ["/b1", "/b4"]


async def test_baggage_names_the_run_and_goes_on(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        field = b"Baggage: a=b,edgetape.run=traced,edgetape.workflow=review"
        await ask(made.recorder.port, get(provider.url + "/1", basic("by-proxy"), field))
        await ask(made.recorder.port, get(provider.url + "/2", field, b"X-Edgetape-Run: by-header"))
        assert paths(made) == {"traced": ["/1"], "by-header": ["/2"]}
        assert b"edgetape.run=traced" in provider.seen()[0].head
        assert [fact.workflow for fact in opened(made)] == ["review", "review"]


async def test_what_names_no_run_can_have_one_for_each_trace_or_connection(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, unknown_run="new") as made:
        for path, fields in (("/1", (TRACE % 1,)), ("/2", ()), ("/3", (TRACE % 2,)), ("/4", ()), ("/5", (basic("n"),))):
            await ask(made.recorder.port, get(provider.url + path, *fields))
        assert sorted(one.paths for one in made_runs(made)) == [["/1", "/3"], ["/2"], ["/4"], ["/5"]]


async def test_what_names_no_run_can_be_refused(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, unknown_run="refuse") as made:
        port = made.recorder.port
        answer = await ask(port, get(provider.url + "/1"))
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"X-Edgetape-Run" in answer
        async with tunnelled(port, f"127.0.0.1:{provider.port}") as (reader, writer):
            writer.write(b"\x00\x01\x02\x03 no http")
            assert await reader.read() == b""
        async with tunnelled(port, f"127.0.0.1:{provider.port}") as (reader, writer):
            writer.write(b"GET /2 HTTP/1.1\r\nHost: h\r\nX-Edgetape-Run: mine\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        assert paths(made) == {"mine": ["/2"]}
        assert made.recorder.counts.refused == 2
        assert made.recorder.counts.failures == 0


async def test_a_port_of_one_run_is_for_clients_that_can_say_nothing(tmp_path: Path, provider: Provider) -> None:
    about = {"workflow": "build", "labels": (("team", "a"),)}
    async with recording(tmp_path, None, run_ports=(("nightly", 0),), token="s3cret", **about) as made:
        assert (await ask(made.recorder.port, get(provider.url + "/1"))).startswith(b"HTTP/1.1 407 ")
        assert (await ask(extra_port(made.recorder), get(provider.url + "/2"))).startswith(b"HTTP/1.1 200 ")
        assert paths(made) == {"nightly": ["/2"]}
        (run,) = opened(made)
        assert (run.workflow, run.labels) == ("build", [["team", "a"]])
