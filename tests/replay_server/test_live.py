"""A fork that goes live: what reaches the real server, what the agent sees, what is recorded, and what never leaves."""

import json
from dataclasses import replace
from typing import Any

from replay_server.registry import Registry
from replay_server.server import ReplayOptions
from store.core.draft import Draft
from store.core.model import HttpResponse
from store.core.redact import Redactor
from store.exchange import exchanges
from store.labels.own import parsed
from store.verify import Terms, verify
from tests.replay_server.forking import SECRET, ask, finished, forking, of_run, record_two
from tests.replay_server.recording import Place, Recording, chat, completion, encode
from tests.support.provider import Provider


async def test_the_step_is_answered_as_told_and_the_rest_from_the_recording(place: Place, provider: Provider) -> None:
    run = record_two(place, provider.url)
    async with place.replaying(run, forking(1)) as server:
        assert (await ask(server, "GET", f"{provider.url}/rows")).endswith(b"[1]")
        assert (await ask(server, "GET", f"{provider.url}/other")).endswith(b'"recorded"')
        report = await finished(server)
    assert (report.exit_code, provider.seen()) == (0, ())
    assert report.verdict == (
        "FORKED at step 1 (the whole body set); 0 live, 1 from the recording after it; nothing else could get out"
    )


async def test_the_new_run_goes_on_from_the_forks_step(place: Place, provider: Provider) -> None:
    run = record_two(place, provider.url)
    async with place.replaying(run, forking(2)) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        await ask(server, "GET", f"{provider.url}/other")
        await finished(server)
    opened, told, reader = of_run(place, server.run)
    with reader:
        (_, second) = exchanges(reader.events(run))
        assert opened.parent is not None
        assert (opened.parent.run, opened.parent.seq) == (run, second.request.seq)
        assert opened.parent.event_hash == reader.event_hash(run, second.request.seq).hex()
        assert [reader.body(one.outcome, one.response.body) for one in told if one.outcome and one.response] == [
            b"[]",
            b"[1]",
        ]


async def test_what_is_served_keeps_the_labels_of_the_recorded_answer_but_its_receipt(place: Place) -> None:
    def tell(recording: Recording) -> None:
        labels: dict[str, Any] = {"usage": [["input_tokens", 3]], "stop": "end", "tools": ["f"], "receipt": "r-1"}
        request = recording.ask("GET", "http://tools.example.com/rows", headers=())
        answer = HttpResponse(
            req=-1, status=200, http_version="HTTP/1.1", headers=[], ended="complete", framing="length", **labels
        )
        recording.writer.append(recording.run, Draft(answer), after=request)

    async with place.replaying(place.record(tell)) as server:
        await ask(server, "GET", "http://tools.example.com/rows")
        await finished(server)
    _, (told,), reader = of_run(place, server.run)
    reader.close()
    assert told.response is not None
    assert (told.response.usage, told.response.stop, told.response.tools) == ([["input_tokens", 3]], "end", ["f"])
    assert told.response.receipt is None


async def test_what_no_rule_lets_out_is_refused_with_the_rule_that_would(place: Place, provider: Provider) -> None:
    async with place.replaying(record_two(place, provider.url), forking(1)) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        refused = await ask(server, "POST", f"{provider.url}/mail", b'{"to": "x"}')
        report = await finished(server)
    assert refused.startswith(b"HTTP/1.1 422 ")
    place_of = provider.url.removeprefix("http://")
    rule = f"host={place_of} method=POST tool=mail class=write"
    assert f"--allow '{rule}'" in json.loads(refused.partition(b"\r\n\r\n")[2])["detail"]
    assert (report.exit_code, report.counts["refused"], provider.seen()) == (43, 1, ())
    assert report.verdict.startswith(f"REFUSED at step 2: POST {provider.url}/mail was not let out")
    assert str(Registry.of([rule]).rules[0]) == rule


async def test_what_a_live_request_is_say_the_operators_own_rules_too(place: Place, provider: Provider) -> None:
    own = parsed(
        {"rules": [{"host": "127.0.0.1", "path": "/mail", "tool": "ask", "effect": "read", "receipt": "/target"}]}
    )
    options = forking(1, "tool=ask")
    assert options.live is not None
    options = replace(options, live=replace(options.live, own=own))
    async with place.replaying(record_two(place, provider.url), options) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        assert (await ask(server, "POST", f"{provider.url}/mail", b"{}")).startswith(b"HTTP/1.1 200 ")
        refused = await ask(server, "POST", f"{provider.url}/other", b"{}")
        await finished(server)
    assert refused.startswith(b"HTTP/1.1 422 ")
    _, (_, told, _), reader = of_run(place, server.run)
    reader.close()
    assert (told.facts.tool, told.facts.effect, told.facts.rules) == ("ask", "read", own.version)
    assert told.response is not None
    assert (told.response.receipt, told.response.rules) == ("/mail", own.version)
    verdict = verify(place.store, place.keys, server.run, Terms(deep=True, own=(own,)))
    assert (verdict.findings, "FACTS_UNCHECKED" in dict(verdict.flags)) == ((), False)


async def test_an_effect_goes_out_once_with_a_key_and_its_receipt_is_kept(place: Place, provider: Provider) -> None:
    run = record_two(place, provider.url)
    keys = []
    for _ in range(2):
        async with place.replaying(run, forking(1, "host=* class=write")) as server:
            await ask(server, "GET", f"{provider.url}/rows")
            answered = await ask(server, "POST", f"{provider.url}/orders?fault=redirect", b'{"n": 1}')
            report = await finished(server)
        assert b" 422 " not in answered.partition(b"\r\n")[0]
        (sent,) = provider.seen()
        provider.forget()
        keys.append(sent.header("idempotency-key"))
        _, told, reader = of_run(place, server.run)
        reader.close()
        assert told[1].facts.idempotency_key == keys[-1]
        document = json.loads(report.json())
        (live,) = document["fork"]["live"]
        assert (live["step"], live["effect"], live["idempotency_key"]) == (2, "write", keys[-1])
        assert document["upstream_connections"] == 1
    assert keys[0] is not None
    assert keys[0].startswith("edgetape-")
    assert keys[0] == keys[1]


async def test_the_agents_own_key_is_left_as_it_is(place: Place, provider: Provider) -> None:
    async with place.replaying(record_two(place, provider.url), forking(1, "host=* class=write")) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        await ask(server, "POST", f"{provider.url}/orders", b"{}", "Idempotency-Key: mine-1")
    assert [one.header("idempotency-key") for one in provider.seen()] == ["mine-1"]


async def test_what_is_sent_is_what_the_agent_sent(place: Place, provider: Provider) -> None:
    async with place.replaying(record_two(place, provider.url), forking(1, "host=*")) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        path = "/other%2Fpath//x?b=%20+&a=[1]"
        await ask(server, "GET", provider.url + path, b"", "X-Odd: One", "x-ODD: two", "User-Agent: mine")
    (sent,) = provider.seen()
    assert sent.target == path
    fields = [(name.lower(), value) for name, value in sent.headers]
    assert [value for name, value in fields if name == b"x-odd"] == [b"One", b"two"]
    assert {name for name, _ in fields} == {b"host", b"x-odd", b"user-agent", b"connection"}


async def test_a_model_is_asked_live_streams_and_is_recorded_without_the_key(place: Place, provider: Provider) -> None:
    url = f"{provider.url}/v1/chat/completions"

    def tell(recording: Recording) -> None:
        recording.get(f"{provider.url}/rows", b"[]")
        recording.post(url, chat(("user", "q")), completion("low"))

    run = place.record(tell)
    async with place.replaying(run, forking(1, models=[("127.0.0.1", provider.port)])) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        asked = encode({**chat(("user", "q2"), model="scripted-1"), "stream": True})
        answered = await ask(server, "POST", url, asked, f"Authorization: Bearer {SECRET}")
        report = await finished(server)
    assert answered.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Transfer-Encoding: chunked" in answered
    assert answered.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    (sent,) = provider.seen()
    assert sent.header("authorization") == f"Bearer {SECRET}"
    assert report.exit_code == 0
    _, told, reader = of_run(place, server.run)
    with reader:
        live = told[1]
        assert isinstance(live.response, HttpResponse)
        assert live.outcome is not None
        assert (live.response.upstream, live.response.stop) == (f"127.0.0.1:{provider.port}", "stop")
        assert reader.body(live.outcome, live.response.body).endswith(b"data: [DONE]\n\n")
        assert dict(reader.pairs(live.request, live.facts.headers))[b"Authorization"].startswith(b"Bearer <edgetape:")
    stored = b"".join(path.read_bytes() for path in place.store.rglob("*") if path.is_file())
    assert SECRET.encode() not in stored


async def test_a_fork_can_be_replayed_and_forked_again(place: Place, provider: Provider) -> None:
    async with place.replaying(record_two(place, provider.url), forking(1, "host=*")) as first:
        await ask(first, "GET", f"{provider.url}/rows")
        live = await ask(first, "GET", f"{provider.url}/other")
    provider.forget()
    async with place.replaying(first.run) as again:
        assert (await ask(again, "GET", f"{provider.url}/rows")).endswith(b"[1]")
        assert (await ask(again, "GET", f"{provider.url}/other")).partition(b"\r\n\r\n")[2] == live.partition(
            b"\r\n\r\n"
        )[2]
        assert (await finished(again)).verdict.startswith("REPLAYED: all 2")
    async with place.replaying(first.run, forking(2)) as second:
        await ask(second, "GET", f"{provider.url}/rows")
        assert (await ask(second, "GET", f"{provider.url}/other")).endswith(b"[1]")
    assert provider.seen() == ()


async def test_a_stand_in_never_reaches_a_real_server(place: Place, provider: Provider) -> None:
    def tell(recording: Recording) -> None:
        recording.get(f"{provider.url}/rows", b"[]")
        recording.get(f"{provider.url}/login", b'{"access_token": "<edgetape:oauth:1>"}')

    run = place.record(tell)
    made = forking(1, "host=*")
    options = ReplayOptions(live=made.live, redactor=Redactor())
    async with place.replaying(run, options) as server:
        server.session._standins.made.add(b"stand-in-token-0123456789")
        await ask(server, "GET", f"{provider.url}/rows")
        held = await ask(server, "GET", f"{provider.url}/x?t=stand-in-token-0123456789")
        also = await ask(server, "GET", f"{provider.url}/x", b"", "X-Auth: Basic c3RhbmQtaW4tdG9rZW4tMDEyMzQ1Njc4OQ==")
        report = await finished(server)
    assert (held[9:12], also[9:12]) == (b"422", b"422")
    assert b"stand-in" in held
    assert (report.exit_code, provider.seen()) == (43, ())


async def test_a_live_step_asks_the_real_server(place: Place, provider: Provider) -> None:
    async with place.replaying(record_two(place, provider.url), forking(1, "path=/rows", live_step=True)) as server:
        assert b'"path":"/rows"' in await ask(server, "GET", f"{provider.url}/rows")
        assert (await ask(server, "GET", f"{provider.url}/other")).endswith(b'"recorded"')
    assert len(provider.seen()) == 1
