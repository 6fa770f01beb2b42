"""Rules of what may differ: what they name, what they leave, and the ones that come with edgetape."""

import pytest

from replay_server import agents
from replay_server.normalise import Rules
from replay_server.rules import BadRule, Ignore, Optional
from replay_server.server import ReplayOptions
from store.core.form import Asked, Endpoint
from store.core.jsontext import Node, opened, parse
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion, encode
from tests.replay_server.walking import JSON, ask

SETTINGS = "https://api.anthropic.com/api/claude_code/settings"


@pytest.mark.parametrize(
    "rule, body, left, count",
    [
        (r"body /a matches \d+", b'{"a":"n 12 of 13","b":"14"}', b'{"a":"n  of ","b":"14"}', 2),
        (r"body /a/*/t matches x", b'{"a":[{"t":"axb"},{"t":"c"}]}', b'{"a":[{"t":"ab"},{"t":"c"}]}', 1),
        (r"body /a matches x", b'{"a":{"b":["x",{"c":"yx"}],"d":1}}', b'{"a":{"b":["",{"c":"y"}],"d":1}}', 2),
        (r"body /a matches x", b'{"a":"{\\"b\\":\\"xy\\"}"}', b'{"a":"{\\"b\\":\\"y\\"}"}', 1),
        (r"value matches ID-\d", b'{"a":"ID-1","b":[{"c":"of ID-2"}]}', b'{"a":"","b":[{"c":"of "}]}', 2),
        (r"body /a/1 matches x", b'{"a":["x","x"]}', b'{"a":["x",""]}', 1),
    ],
)
def test_an_expression_takes_out_what_it_finds(rule: str, body: bytes, left: bytes, count: int) -> None:
    document: dict[str, Node] = {"body": opened(parse(body))}
    assert Ignore.parse(rule).remove(document) == count
    assert document["body"] == opened(parse(left))
    assert str(Ignore.parse(rule)) == rule


@pytest.mark.parametrize("rule", ["body /a matches (", "value", "value /a", "value /a matches x", " matches x"])
def test_an_expression_that_cannot_be_read_is_refused(rule: str) -> None:
    with pytest.raises(BadRule):
        Ignore.parse(rule)


@pytest.mark.parametrize("rule", ["", "GET", "GET host", "GET h/x where body /a", "GET h/x where nothing matches x"])
def test_an_optional_request_that_cannot_be_read_is_refused(rule: str) -> None:
    with pytest.raises(BadRule):
        Optional.parse(rule)


@pytest.mark.parametrize(
    "rule, fits",
    [
        ("GET h.example/a/*", True),
        ("* h.example/a/b", True),
        ("GET https://h.example:443/a/b", True),
        ("GET *.example/*/b", True),
        ("POST h.example/a/b", False),
        ("GET h.example/a", False),
        ("GET h.example:80/a/b", False),
    ],
)
def test_an_optional_request_is_named_by_its_place(rule: str, fits: bool) -> None:
    assert Optional.parse(rule).names(Endpoint("GET", "https", "h.example", 443, b"/a/b")) is fits


def test_every_shipped_rule_is_written_as_it_is_reported() -> None:
    known = agents.known_agents()
    assert [agent.name for agent in known] == ["Claude Code", "Codex", "Gemini CLI", "opencode", "mini-swe-agent"]
    assert agents.version() == 2
    for agent in known:
        assert [Ignore.parse(str(rule)) for rule in agent.ignores] == [*agent.ignores]
        assert [Optional.parse(str(rule)) for rule in agent.optionals] == [*agent.optionals]


@pytest.mark.parametrize(
    "user_agent, member, said",
    [
        ("claude-cli/2.1.197 (external, sdk-cli)", "messages", "# currentDate\nToday's date is {}.\n"),
        ("codex_exec/0.171.0", "input", "<shell>bash</shell>\n  <current_date>{}</current_date>"),
    ],
)
def test_the_day_that_an_agent_tells_its_model_is_no_drift(user_agent: str, member: str, said: str) -> None:
    def key(text: str) -> bytes:
        body = encode({"model": "m", member: [{"role": "user", "content": [{"type": "text", "text": text}]}]})
        headers = ((b"User-Agent", user_agent.encode()),)
        return Rules.of(()).normal(Asked(Endpoint("POST", "https", "h", 443, b"/v1/x"), b"", headers, body)).form.key

    assert key(said.format("2026-11-30")) == key(said.format("2026-12-21"))
    assert key("It is due on 2026-11-30.") != key("It is due on 2026-12-21.")


def test_a_shipped_rule_holds_for_its_agent_only() -> None:
    def form(user_agent: bytes, chunk: str) -> bytes:
        body = encode({"model": "m", "input": [{"type": "function_call_output", "output": f"Chunk ID: {chunk} ok"}]})
        asked = Asked(Endpoint("POST", "https", "h", 443, b"/v1/responses"), b"", ((b"User-Agent", user_agent),), body)
        return Rules.of(()).normal(asked).form.key

    assert form(b"codex_exec/0.171.0", "a1") == form(b"codex_exec/0.171.1", "b2")
    assert form(b"other/1", "a1") != form(b"other/1", "b2")


def test_c077_ids_and_markers_inside_a_body_are_left_out_by_rules_that_say_so() -> None:
    def asked(session: str, day: str, call: str, marker: dict[str, object]) -> Asked:
        block = {"type": "tool_use", "id": call, "name": "t", "input": {}, **marker}
        value = {
            "metadata": {"user_id": f"user_ab_account__session_{session}"},
            "system": f"<env>Today: {day} cwd: x{day[-1]}</env>",
            "messages": [{"role": "assistant", "content": [block]}],
        }
        agent = ((b"User-Agent", b"claude-cli/2.1.269"),)
        return Asked(Endpoint("POST", "https", "h", 443, b"/v1/messages"), b"", agent, encode(value))

    told = [
        "body /system matches <env>.*</env>",
        "body /messages/*/content/*/cache_control",
        "body /messages/*/content/*/id matches (?<=^toolu_).*",
    ]
    one = asked("0" * 36, "2026-11-29", "toolu_01", {})
    other = asked("1" * 36, "2026-12-01", "toolu_02", {"cache_control": {"type": "ephemeral"}})
    rules = Rules.of(told)
    assert rules.normal(one).form.key == rules.normal(other).form.key
    assert {rule for rule in told if rules.normal(other).counts.get(rule) == 1} == set(told)
    assert Rules.of(()).normal(one).form.key != Rules.of(()).normal(other).form.key


def walk(recording: Recording) -> None:
    recording.get(SETTINGS, b'{"n": 1}')
    recording.post(CHAT, chat(("user", "title: q")), completion("t"))
    recording.post(CHAT, chat(("user", "q")), completion("a"))
    recording.get(SETTINGS, b'{"n": 2}')


async def test_an_optional_request_may_come_more_often_or_not_at_all(place: Place) -> None:
    run = place.record(walk)
    title = f"POST {CHAT} where body /messages/0/content matches ^title: "
    options = ReplayOptions(optional=[title, "GET nowhere.example.com/*"])
    for times in (0, 1, 3):
        async with place.replaying(run, options) as server:
            for _ in range(times):
                assert ask(server.session, "GET", SETTINGS)[0] == 200
                assert b'"t"' in ask(server.session, "POST", CHAT, encode(chat(("user", "title: other"))), JSON)[2]
            assert b'"a"' in ask(server.session, "POST", CHAT, encode(chat(("user", "q"))), JSON)[2]
            report = await server.stop(0)
        assert (report.exit_code, report.counts["optional"], report.counts["matched"]) == (0, 2 * times, 1)
        assert report.document["stale_rules"] == ["GET nowhere.example.com/*"]
        named = {"Claude Code: GET api.anthropic.com/api/claude_code/*": times, title.replace("https://", ""): times}
        assert report.document["allowed"] == (named if times else {})


async def test_without_the_shipped_rules_every_request_counts(place: Place) -> None:
    async with place.replaying(place.record(walk), ReplayOptions(agent_rules=False)) as server:
        report = await server.stop(0)
    assert report.counts["never_requested"] == 4


async def test_a_rule_that_the_recording_needs_is_not_stale(place: Place) -> None:
    def tell(recording: Recording) -> None:
        recording.post("http://t.example.com/", {"q": 1, "at": "10:00"})

    async with place.replaying(place.record(tell), ReplayOptions(ignore=["body /at", "body /gone"])) as server:
        ask(server.session, "POST", "http://t.example.com/", encode({"q": 1}))
        report = await server.stop(0)
    assert report.exit_code == 0
    assert report.document["stale_rules"] == ["body /gone"]
