"""What was not recorded is recorded as such: the store says so as soon as it can, and verification with it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from addons import gaps
from addons.options import Durability
from addons.runs import Tag
from store.core.draft import Draft
from store.core.model import Gap, HttpError, HttpRequest, HttpResponse, Note, RunSpawn, TunnelOpen
from store.core.redact import Redactor
from store.verify import verify
from tests.addons.raw import ask, connected, get, until
from tests.addons.recording import Disk, Recording, recording
from tests.support.provider import Provider
from tests.support.verifier import verify as second


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tried again often."""
    monkeypatch.setattr(gaps, "RETRY_S", 0.02)


def gaps_of(made: Recording, word: str = "last") -> list[Gap]:
    return [facts for facts in made.facts(word) if isinstance(facts, Gap)]


def paths(made: Recording, word: str = "last") -> list[str]:
    return [str(facts.path) for facts in made.facts(word) if isinstance(facts, HttpRequest)]


def judged(made: Recording) -> None:
    """Both verifiers call the store incomplete, and find nothing else."""
    verdict = verify(made.folder, made.keys)
    assert (verdict.word, verdict.exit_code, verdict.findings) == ("INCOMPLETE", 30, ())
    assert dict(verdict.flags)["GAPS"] == second(made.folder, made.keys).counts["GAPS"]
    assert second(made.folder, made.keys).exit_status == 30


async def test_what_was_stopped_is_told_of_by_the_next_event(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk) as made:
        await ask(made.recorder.port, get(provider.url + "/before"))
        disk.full = True
        for _ in range(2):
            assert (await ask(made.recorder.port, get(provider.url + "/lost"))).startswith(b"HTTP/1.1 503 ")
        disk.full = False
        await ask(made.recorder.port, get(provider.url + "/after"))
        (gap,) = gaps_of(made)
        assert gap.since < gap.until
        assert str(gap.reason).startswith("0 passed unrecorded, 2 stopped: the store")
        assert paths(made) == ["/before", "/after"]
    judged(made)


async def test_a_gap_is_told_of_without_further_traffic_and_at_the_end(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk) as made:
        await ask(made.recorder.port, get(provider.url + "/before"))
        disk.full = True
        await ask(made.recorder.port, get(provider.url + "/lost"))
        disk.full = False
        await until(lambda: len(gaps_of(made)) == 1)
        disk.full = True
        await ask(made.recorder.port, get(provider.url + "/lost"))
        disk.full = False
    assert len(gaps_of(made)) == 2
    judged(made)


async def test_what_a_named_run_lost_before_it_could_be_opened_is_told_of(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    named = b"X-Edgetape-Run: agent-7"
    async with recording(tmp_path, disk) as made:
        disk.full = True
        await ask(made.recorder.port, get(provider.url + "/lost", named))
        disk.full = False
    assert len(gaps_of(made, "agent-7")) == 1
    judged(made)


@pytest.mark.parametrize("durability", ["strict", "group"])
async def test_traffic_passes_unrecorded_where_it_may_and_is_recorded_again_afterwards(
    tmp_path: Path, provider: Provider, durability: Durability
) -> None:
    disk = Disk()
    async with recording(tmp_path, disk, on_store_failure="pass", durability=durability) as made:
        await ask(made.recorder.port, get(provider.url + "/before"))
        await until(lambda: paths(made) == ["/before"])  # in group it lies for a moment
        disk.full = True
        for fault in ("", "?fault=chunks%2F300,7", "?fault=slow-sse%3Fn%3D3%26ms%3D1"):
            answer = await ask(made.recorder.port, get(provider.url + "/passed" + fault, method=b"POST", body=b"b"))
            assert answer.startswith(b"HTTP/1.1 200 ")
            await until(lambda: made.recorder.counts.failures > 0)  # in group it is noticed a moment later
        chunked = get(provider.url + "/upload", b"Transfer-Encoding: chunked", method=b"POST")
        answer = await ask(made.recorder.port, chunked + b"3\r\nabc\r\n0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 ")
        disk.full = False
        await until(lambda: bool(gaps_of(made)) and not made.recorder.standing.failing)
        await ask(made.recorder.port, get(provider.url + "/after"))
        await until(lambda: "/after" in paths(made))
        assert paths(made) == ["/before", "/after"]
        assert all("0 stopped" in str(gap.reason) for gap in gaps_of(made))
        assert made.recorder.counts.last_failure
    assert [request.path for request in provider.seen()].count("/passed") == 3
    judged(made)


async def test_an_answer_passes_whose_request_was_recorded(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk, on_store_failure="pass") as made:
        original: Callable[[object], object] = provider._answer  # type: ignore[assignment]

        def fill_the_disk(request: object) -> object:
            disk.full = True
            return original(request)

        provider._answer = fill_the_disk  # type: ignore[method-assign, assignment]
        answer = await ask(made.recorder.port, get(provider.url + "/paid", method=b"POST", body=b"b"))
        assert answer.startswith(b"HTTP/1.1 200 ")
        disk.full = False
    facts = made.facts()
    assert [each.kind for each in facts if isinstance(each, HttpError)] == ["recorder_stopped"]
    assert "1 passed unrecorded, 0 stopped" in str(gaps_of(made)[0].reason)
    judged(made)


async def test_a_stream_goes_on_and_is_recorded_whole_when_the_store_comes_back(
    tmp_path: Path, provider: Provider
) -> None:
    disk = Disk()
    async with recording(tmp_path, disk, on_store_failure="pass") as made:
        async with connected(made.recorder.port) as (reader, writer):
            writer.write(get(provider.url + "/fault/slow-sse?n=10&ms=50"))
            await reader.readuntil(b'data: {"n":1}')
            disk.full = True
            await reader.readuntil(b'data: {"n":7}')
            disk.full = False
            await reader.readuntil(b"0\r\n\r\n")
        await until(lambda: any(isinstance(facts, HttpResponse) for facts in made.facts()))
    (exchange,) = made.exchanges()
    assert b'"n":9' in made.response_body(exchange)
    assert gaps_of(made) == []  # nothing of it is missing
    assert verify(made.folder, made.keys).exit_code == 0


async def test_a_tunnel_passes_too(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk, on_store_failure="pass", owns_port=lambda _: True) as made:
        disk.full = True
        assert (await ask(made.recorder.port, get(provider.url + "/local"))).startswith(b"HTTP/1.1 200 ")
        disk.full = False
    assert not [facts for facts in made.facts() if isinstance(facts, TunnelOpen)]
    judged(made)


async def test_what_the_recorder_itself_is_asked_for_is_still_refused(tmp_path: Path) -> None:
    """A value that is not on record is not handed out."""
    disk = Disk()
    async with recording(tmp_path, disk, on_store_failure="pass") as made:
        disk.full = True
        answer = await ask(made.recorder.port, get("http://edgetape.internal/v1/now"))
        assert answer.startswith(b"HTTP/1.1 503 ")
        disk.full = False
    assert not [facts for facts in made.facts() if isinstance(facts, Note)]


async def test_a_fault_of_our_own_stops_traffic_that_may_pass(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What redaction cannot read might be told to the world otherwise; and a defect is no full disk."""

    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    async with recording(tmp_path, on_store_failure="pass") as made:
        monkeypatch.setattr(Redactor, "query", broken)
        assert (await ask(made.recorder.port, get(provider.url + "/x?y=1"))).startswith(b"HTTP/1.1 503 ")
        assert provider.seen() == ()
    assert "0 passed unrecorded, 1 stopped: it cannot be written: RuntimeError" in str(gaps_of(made)[0].reason)


async def test_in_group_what_went_on_before_anybody_noticed_is_told_of(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk, durability="group") as made:
        await ask(made.recorder.port, get(provider.url + "/a"))
        run = await made.recorder._runs.of(Tag())
        disk.full = True
        await made.recorder._keeping.keep(run, Draft(RunSpawn(child=run.id, genesis="0" * 64)))  # nobody waits for it
        await until(lambda: made.recorder.counts.failures > 0)
        disk.full = False
        await ask(made.recorder.port, get(provider.url + "/c"))
    assert " passed unrecorded, 0 stopped" in str(gaps_of(made)[0].reason)
    judged(made)
