"""Comparisons, sandboxes and live misses on a real server: what leaves, what is recorded, where each ends."""

import json

from replay_server.plan import ComparePlan, MissPlan, Plan, SandboxPlan
from replay_server.registry import Registry
from replay_server.server import LiveOptions, ReplayOptions
from replay_server.ventures.sandbox import Fakes
from store.core.model import HttpRequest
from store.core.redact import Redactor
from tests.replay_server.forking import ask, finished, of_run, reach
from tests.replay_server.recording import Place, Recording, chat, completion, encode
from tests.support.provider import Provider

TOOLS = "http://tools.example.com"


def record(place: Place, provider: Provider) -> str:
    def tell(recording: Recording) -> None:
        recording.get(f"{TOOLS}/a", b'"a"')
        recording.get(f"{TOOLS}/b", b'"b"')
        recording.post(f"{provider.url}/v1/chat/completions", chat(("user", "q"), model="m1"), completion("low"))

    return place.record(tell)


def options(plan: Plan, **more: object) -> ReplayOptions:
    return ReplayOptions(live=LiveOptions(plan, reach, b""), redactor=Redactor(), **more)  # type: ignore[arg-type]


def models(provider: Provider) -> Registry:
    return Registry().with_models([("127.0.0.1", provider.port)])


async def test_a_comparison_asks_the_other_model_and_answers_tools_in_any_order(
    place: Place, provider: Provider
) -> None:
    plan = ComparePlan(models(provider), "scripted-2")
    async with place.replaying(record(place, provider), options(plan, order="any")) as server:
        assert (await ask(server, "GET", f"{TOOLS}/b")).endswith(b'"b"')
        assert (await ask(server, "GET", f"{TOOLS}/a")).endswith(b'"a"')
        asked = encode(chat(("user", "q"), model="m1"))
        assert b" 200 " in await ask(server, "POST", f"{provider.url}/v1/chat/completions", asked)
        report = await finished(server)
    assert report.exit_code == 0, report.text()
    assert report.verdict == (
        "COMPARED (model scripted-2): the agent ended with 0; 1 live, 2 from the recording; nothing else could get out"
    )
    (sent,) = provider.seen()
    assert json.loads(sent.body)["model"] == "scripted-2"
    _, told, reader = of_run(place, server.run)
    with reader:
        facts = told[2].facts
        assert isinstance(facts, HttpRequest)
        assert (facts.model, reader.body(told[2].request, facts.body)) == ("scripted-2", sent.body)


async def test_a_branch_that_asks_for_something_else_has_left_the_recording_and_ends(
    place: Place, provider: Provider
) -> None:
    async with place.replaying(record(place, provider), options(ComparePlan(models(provider)))) as server:
        left = await ask(server, "GET", f"{TOOLS}/a?other=1")
        assert server.stopped.is_set()
        again = await ask(server, "GET", f"{TOOLS}/b")
        report = await finished(server)
    assert (left[9:12], left.partition(b"\r\n\r\n")[2]) == (b"422", again.partition(b"\r\n\r\n")[2])
    assert (
        "the nearest is step 1, which differs: tool arguments, query"
        in json.loads(left.partition(b"\r\n\r\n")[2])["detail"]
    )
    assert (report.exit_code, provider.seen()) == (41, ())
    assert report.verdict.startswith(f"LEFT THE RECORDING at request 1: GET {TOOLS}/a; 0 live")


async def test_a_sandbox_sends_to_the_fake_and_records_whom_it_was_for(place: Place, provider: Provider) -> None:
    plan = SandboxPlan(Fakes.of([f"tools.example.com={provider.url}"]))
    async with place.replaying(record(place, provider), options(plan)) as server:
        server.session._standins.made.add(b"stand-in-token-0123456789")
        written = await ask(server, "POST", f"{TOOLS}/orders?fault=redirect", b'{"t": "stand-in-token-0123456789"}')
        asked = encode(chat(("user", "q"), model="m1"))
        answered = await ask(server, "POST", f"{provider.url}/v1/chat/completions", asked)
        report = await finished(server)
    assert b" 422 " not in written.partition(b"\r\n")[0]
    assert b"low" in answered
    (sent,) = provider.seen()
    assert sent.target == "/orders?fault=redirect"
    assert sent.header("idempotency-key") is None
    assert (report.exit_code, report.verdict.partition(";")[0]) == (0, "SANDBOXED: the agent ended with 0")
    _, told, reader = of_run(place, server.run)
    reader.close()
    assert (told[0].facts.host, told[0].response and told[0].response.upstream) == (
        "tools.example.com",
        f"127.0.0.1:{provider.port}",
    )


async def test_nothing_but_the_fakes_is_reached_from_a_sandbox(place: Place, provider: Provider) -> None:
    plan = SandboxPlan(Fakes.of(["tools.example.com=http://127.0.0.1:1"]))
    async with place.replaying(record(place, provider), options(plan)) as server:
        await ask(server, "GET", f"{provider.url}/else")
        report = await finished(server)
    assert (report.exit_code, report.document["upstream_connections"], provider.seen()) == (41, 0, ())


async def test_a_miss_goes_live_and_the_rest_stays_recorded(place: Place, provider: Provider) -> None:
    where = provider.url.removeprefix("http://")
    plan = MissPlan(Registry.of([f"host={where}"]))
    async with place.replaying(record(place, provider), options(plan, on_miss="live")) as server:
        assert (await ask(server, "GET", f"{TOOLS}/a")).endswith(b'"a"')
        assert b'"path":"/new"' in await ask(server, "GET", f"{provider.url}/new")
        report = await finished(server)
    assert [one.target for one in provider.seen()] == ["/new"]
    assert report.exit_code == 0, report.text()
    assert report.verdict == "FORKED at its misses; 1 live, 0 from the recording; nothing else could get out"
