"""A replay as a whole: order, stops, misses, telemetry, and the run that it writes of itself."""

import json

import pytest

from replay_server.server import ReplayOptions, ReplayServer
from store.core import canonical
from store.core.model import HttpRequest, HttpResponse, RunClose, RunOpen, Verdict
from store.erasure import Erasure
from store.exchange import exchanges
from store.reader import Reader
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion, encode
from tests.replay_server.wires import dial, dial_through


async def post(server: ReplayServer, place: Place, url: str, asked: object) -> bytes:
    host, _, path = url.removeprefix("https://").partition("/")
    wire = await dial_through(server, place, f"{host}:443")
    body = encode(asked)
    head = f"POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
    wire.send(
        f"{head}Authorization: Bearer sk-secret\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        + body
    )
    await wire.end()
    return wire.received


async def get(server: ReplayServer, url: str) -> bytes:
    wire = await dial(server)
    wire.send(f"GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    await wire.end()
    return wire.received


def loop(recording: Recording) -> None:
    talk = [("user", "q")]
    for turn in range(3):
        recording.post(CHAT, chat(*talk), completion(f"a{turn}"))
        recording.get(f"http://tools.example.com/{turn}", f"t{turn}".encode())
        talk += [("assistant", f"a{turn}"), ("tool", f"t{turn}")]


async def walk(server: ReplayServer, place: Place, *, skip: str = "", wrong: int = -1) -> None:
    talk = [("user", "q")]
    for turn in range(3):
        said = [*talk, ("user", "extra")] if turn == wrong else talk
        await post(server, place, CHAT, chat(*said))
        if skip != f"tool {turn}":
            await get(server, f"http://tools.example.com/{turn}")
        talk += [("assistant", f"a{turn}"), ("tool", f"t{turn}")]


async def test_an_agent_that_walks_its_path_replays_clean(place: Place) -> None:
    async with place.replaying(place.record(loop)) as server:
        await walk(server, place)
        report = await server.stop(0, confined=True)
        assert (report.exit_code, report.counts["matched"], report.counts["reordered"]) == (0, 6, 0)
        assert report.verdict.startswith("REPLAYED: all 6")


async def test_a_dropped_call_is_never_requested_and_named(place: Place) -> None:
    async with place.replaying(place.record(loop)) as server:
        await walk(server, place, skip="tool 1")
        report = await server.stop(0)
        assert report.exit_code == 42
        assert report.document["never_requested"] == [{"step": 4, "request": "GET http://tools.example.com/1"}]
        assert "NEVER REQUESTED: step 4, GET http://tools.example.com/1" in report.verdict


async def test_the_first_drift_stops_and_all_that_follows_hears_of_it(place: Place) -> None:
    async with place.replaying(place.record(loop)) as server:
        await walk(server, place, wrong=1)
        assert server.stopped.is_set()
        assert server.options.grace_s == 10
        later = await post(server, place, CHAT, chat(("user", "something else")))
        document = json.loads(later.partition(b"\r\n\r\n")[2])
        assert b"HTTP/1.1 422" in later
        assert b"\r\nx-should-retry: false\r\n" in later
        assert document["report"]["step"] == 3
        assert document["error"] == {"type": "edgetape_drifted", "message": f"edgetape replay: {document['detail']}"}
        report = await server.stop(1)
        assert report.exit_code == 40
        assert (report.counts["drifted"], report.counts["after_stop"], report.counts["never_requested"]) == (1, 4, 0)
        assert report.document["stopped_at"] == 3


async def test_a_miss_does_not_stop_and_outweighs_a_drift(place: Place) -> None:
    async with place.replaying(place.record(loop), ReplayOptions(on_drift="serve")) as server:
        assert b" 422 " in await get(server, "http://elsewhere.example.com/")
        await walk(server, place, wrong=1)
        await get(server, "http://tools.example.com/0")
        report = await server.stop(0, ["TCP to 192.0.2.1 port 9"])
        assert report.exit_code == 43
        counts = report.counts
        assert (counts["unexpected"], counts["exhausted"], counts["drifted"], counts["matched"]) == (1, 1, 1, 5)


async def test_order_as_far_as_it_was_asked_for(place: Place) -> None:
    run = place.record(loop)
    second = chat(("user", "q"), ("assistant", "a0"), ("tool", "t0"))
    for order, found in (("causal", 1), ("strict", 1), ("any", 0)):
        async with place.replaying(run, ReplayOptions(order=order)) as server:  # type: ignore[arg-type]
            await post(server, place, CHAT, second)
            await post(server, place, CHAT, chat(("user", "q")))
            report = await server.stop(0)
            assert report.counts["reordered"] == found
            assert report.counts["matched"] == 2
            assert report.exit_code == (40 if found else 42)


@pytest.mark.parametrize("repeats", [False, True])
async def test_the_last_answer_comes_again_only_where_that_was_asked_for(place: Place, repeats: bool) -> None:
    def tell(recording: Recording) -> None:
        for turn in range(2):
            recording.get("http://t.example.com/state", f"state {turn}".encode())

    async with place.replaying(place.record(tell), ReplayOptions(repeat_last=repeats)) as server:
        answers = [await get(server, "http://t.example.com/state") for _ in range(4)]
        report = await server.stop(0)
    assert [b"state 1" in answer for answer in answers] == [False, True, repeats, repeats]
    counted = (report.exit_code, report.counts["matched"], report.counts["repeated"], report.counts["exhausted"])
    assert counted == ((0, 2, 2, 0) if repeats else (41, 2, 0, 2))


async def test_what_never_came_is_missing_and_not_late(place: Place) -> None:
    second = chat(("user", "q"), ("assistant", "a0"), ("tool", "t0"))
    async with place.replaying(place.record(loop)) as server:
        await post(server, place, CHAT, second)
        report = await server.stop(0)
    assert (report.exit_code, report.counts["reordered"], report.counts["never_requested"]) == (42, 0, 5)


async def test_a_step_whose_request_was_erased_is_refused_by_name(place: Place) -> None:
    run = place.record(loop)
    with Reader.open(place.store, place.keys) as reader:
        seq = exchanges(reader.events(run))[2].request.seq
    writer = place.writer()
    writer.erase(Erasure(run, (seq,), "a test", "asked for")).result()
    writer.close()
    async with place.replaying(run) as server:
        await walk(server, place)
        report = await server.stop(0)
        assert report.exit_code == 125
        told = json.dumps(report.document["unserved"])
        assert '"nearest": 3' in told
        assert "recorded request of step 3 cannot be compared" in told
        assert "erased" in told
        assert (report.counts["matched"], report.counts["never_requested"], report.counts["drifted"]) == (5, 0, 0)


async def test_telemetry_may_come_at_any_time_or_never(place: Place) -> None:
    traces = "https://api.openai.com/v1/traces/ingest"

    def tell(recording: Recording) -> None:
        recording.post(traces, {"n": 1}, b"", status=204, framing="none", headers=())
        recording.get("http://tools.example.com/", b"t")
        recording.post(traces, {"n": 2}, b"late", headers=())

    run = place.record(tell)
    async with place.replaying(run) as server:
        await get(server, "http://tools.example.com/")
        report = await server.stop(0)
        assert (report.exit_code, report.counts["never_requested"]) == (0, 0)
    async with place.replaying(run) as server:
        answers = [await post(server, place, traces, {"other": number}) for number in range(4)]
        await get(server, "http://tools.example.com/")
        assert [answer.split(b" ")[1] for answer in answers] == [b"204", b"200", b"200", b"200"]
        unknown = await post(server, place, "https://events.statsigapi.net/v1/rgstr", {})
        assert b" 204 " in unknown
        report = await server.stop(0)
        assert (report.exit_code, report.counts["optional"]) == (0, 5)


async def test_the_replay_writes_a_run_of_its_own_linked_to_the_original(place: Place) -> None:
    run = place.record(loop)
    async with place.replaying(run) as server:
        await walk(server, place)
        report = await server.stop(0)
    with Reader.open(place.store, place.keys) as reader:
        original, own = reader.run(run), reader.find("last:replay")
        assert reader.find("last").id == run
        assert own.id == server.run
        assert own.parent is not None
        last = original.events - 1
        assert (own.parent.run, own.parent.seq) == (run, last)
        assert own.parent.event_hash == reader.event_hash(run, last).hex()
        events = list(reader.events(own.id))
        assert isinstance(events[0].facts, RunOpen)
        assert (events[0].facts.mode, isinstance(events[-1].facts, RunClose)) == ("replay", True)
        verdict = events[-2].facts
        assert isinstance(verdict, Verdict)
        assert (verdict.verdict, verdict.exit_code) == (report.verdict, 0)
        assert json.loads(reader.body(events[-2], verdict.report)) == report.document
        served = exchanges(events)
        assert len(served) == 6
        recorded = exchanges(reader.events(run))
        for one, other in zip(served, recorded, strict=True):
            assert isinstance(one.facts, HttpRequest)
            assert one.outcome is not None
            assert other.outcome is not None
            assert isinstance(one.response, HttpResponse)
            assert isinstance(other.response, HttpResponse)
            assert reader.body(one.outcome, one.response.body) == reader.body(other.outcome, other.response.body)
        raw = b"".join(canonical.encode({"x": str(event)}) for event in events)
        assert b"sk-secret" not in raw


async def test_c089_a_rotated_key_in_the_query_never_misses(place: Place) -> None:
    def tell(recording: Recording) -> None:
        recording.get("http://g.example.com/v1/models?key=AIzaREAL&page=1", b"models")

    async with place.replaying(place.record(tell)) as server:
        assert b"models" in await get(server, "http://g.example.com/v1/models?key=AIzaOTHER&page=1")
        assert (await server.stop(0)).exit_code == 0


async def test_two_replays_of_one_run_share_nothing(place: Place) -> None:
    def tell(recording: Recording) -> None:
        recording.get("http://t.example.com/", b"one")
        recording.get("http://t.example.com/", b"two")

    run = place.record(tell)
    async with place.replaying(run) as first, place.replaying(run) as second:
        for server in (first, second):
            assert b"one" in await get(server, "http://t.example.com/")
        for server in (second, first):
            assert b"two" in await get(server, "http://t.example.com/")
        assert (await first.stop(0)).exit_code == (await second.stop(0)).exit_code == 0


@pytest.mark.parametrize("again", [False, True])
async def test_the_report_can_be_asked_for_twice(place: Place, again: bool) -> None:
    async with place.replaying(place.record(loop)) as server:
        first = await server.stop(5)
        if again:
            assert await server.stop(0) is first
        assert first.exit_code == 42


async def test_a_store_that_fails_is_told_and_the_findings_are_not_lost(place: Place) -> None:
    run, writer = place.record(loop), place.writer()
    with Reader.open(place.store, place.keys) as reader:
        server = ReplayServer(reader, writer, reader.run(run), place.authority, ReplayOptions())
        await server.start()
        await walk(server, place, skip="tool 1")
        writer.close()
        report = await server.stop(0)
    assert report.exit_code == 125
    assert report.verdict.startswith("FAILED: the replay's own run is incomplete: ")
    assert report.counts["never_requested"] == 1
