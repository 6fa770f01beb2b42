"""The tiers, in their order, over forms alone."""

import pytest

from replay_server.match import Match, Matcher, Tier
from replay_server.nearest import DISTANCE_MAX
from store.core.form import Asked, Endpoint, Form
from store.core.redact import Redactor
from tests.replay_server.asking import CHAT, chat, got, live, posted


class Taped:
    """A matcher over recorded forms, counting which of them were read."""

    def __init__(self, *forms: Form, optional: set[Endpoint] | None = None) -> None:
        self.read: list[int] = []

        def form(index: int) -> Form:
            self.read.append(index)
            return forms[index]

        self.optional = optional or set()
        self.matcher = Matcher([(one.endpoint, self.label(one), "") for one in forms], form)

    def label(self, form: Form) -> str:
        return "telemetry" if form.endpoint in self.optional else ""

    def ask(self, form: Form) -> Match:
        match = self.matcher.find(form, self.label(form))
        if match.index is not None and match.tier in (Tier.SAME, Tier.OPTIONAL, Tier.DRIFTED):
            self.matcher.take(match.index, form)
        return match


def test_c064_identical_requests_get_successive_answers_and_then_no_more() -> None:
    taped = Taped(got("/tasks/1"), got("/tasks/1"), got("/tasks/1"))
    matches = [taped.ask(got("/tasks/1")) for _ in range(4)]
    assert [match.index for match in matches] == [0, 1, 2, 2]
    assert [match.again for match in matches] == [False] * 3 + [True]
    assert [match.tier for match in matches] == [Tier.SAME] * 3 + [Tier.EXHAUSTED]


def test_c066_order_does_not_matter_between_different_requests() -> None:
    taped = Taped(posted({"q": "red"}), posted({"q": "green"}), posted({"q": "red"}))
    assert [taped.ask(posted({"q": word})).index for word in ("green", "red", "red")] == [1, 0, 2]


def test_one_word_apart_is_not_the_same() -> None:
    taped = Taped(posted({"q": "red", "n": 1}))
    assert taped.ask(posted({"q": "reds", "n": 1})) == Match(Tier.DRIFTED, 0)


def test_c073_the_whole_conversation_is_the_key_and_not_its_last_user_message() -> None:
    first = chat(("user", "hi"))
    second = chat(("user", "hi"), ("assistant", ""), ("tool", "42"))
    other = chat(("user", "hi"), model="m2")
    taped = Taped(first, second, other)
    assert [taped.ask(form).index for form in (other, second, first)] == [2, 1, 0]


def test_another_endpoint_is_unexpected() -> None:
    taped = Taped(got("/a"))
    assert taped.ask(got("/b")) == Match(Tier.UNEXPECTED)
    assert taped.ask(posted({}, got("/a").endpoint._replace(method="POST"))) == Match(Tier.UNEXPECTED)


def test_too_far_apart_is_unexpected_and_never_the_wrong_answer() -> None:
    taped = Taped(posted({"one": 1, "two": 2, "three": 3}))
    assert taped.ask(posted({"four": 4, "five": 5, "six": 6})) == Match(Tier.UNEXPECTED)


def test_a_tool_call_with_another_argument_is_a_drift() -> None:
    assert DISTANCE_MAX == 0.5
    assert Taped(posted({"q": "a"})).ask(posted({"q": "b"})) == Match(Tier.DRIFTED, 0)
    assert Taped(got("/s", b"q=a")).ask(got("/s", b"q=b")) == Match(Tier.DRIFTED, 0)


def test_the_nearest_of_several_is_the_candidate() -> None:
    taped = Taped(posted({"q": "a", "n": 1, "m": 1}), posted({"q": "b", "n": 2, "m": 1}))
    assert taped.ask(posted({"q": "b", "n": 2, "m": 3})) == Match(Tier.DRIFTED, 1)


def test_another_rpc_method_or_tool_is_no_candidate() -> None:
    def call(method: str, tool: str, value: int) -> Form:
        return posted(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": tool, "arguments": {"v": value}}}
        )

    taped = Taped(call("tools/call", "add", 1), call("tools/call", "sub", 1))
    assert taped.ask(call("tools/call", "sub", 2)) == Match(Tier.DRIFTED, 1)
    assert taped.ask(call("tools/call", "mul", 1)) == Match(Tier.UNEXPECTED)


def test_parallel_conversations_find_their_own_line() -> None:
    red = [("user", "red"), ("assistant", "r1"), ("user", "r2")]
    green = [("user", "green"), ("assistant", "g1"), ("user", "g2")]
    taped = Taped(chat(*red[:1]), chat(*green[:1]), chat(*red), chat(*green))
    assert taped.ask(chat(*green[:1])).index == 1
    assert taped.ask(chat(*red[:1])).index == 0
    assert taped.ask(chat(*green[:2], ("user", "other"))) == Match(Tier.DRIFTED, 3)
    assert taped.ask(chat(*red[:2], ("user", "other"))) == Match(Tier.DRIFTED, 2)


def test_a_changed_system_prompt_finds_the_turn_of_the_same_length() -> None:
    def turns(count: int, system: str) -> Form:
        talk = [("user", "q"), *(("assistant", f"a{at}") for at in range(count))]
        return chat(("system", system), *talk)

    taped = Taped(*(turns(count, "be terse") for count in range(5)))
    assert [taped.ask(turns(count, "be chatty")) for count in range(5)] == [Match(Tier.DRIFTED, at) for at in range(5)]


def test_a_quite_different_conversation_is_unexpected() -> None:
    taped = Taped(chat(("system", "a"), ("user", "b"), tools=[{"name": "x"}]))
    stranger = chat(("system", "c"), ("user", "d"), tools=[{"name": "y"}], model="m9")
    assert taped.ask(stranger) == Match(Tier.UNEXPECTED)


def test_telemetry_comes_in_turn_any_number_of_times() -> None:
    place = got("/v1/traces/ingest").endpoint
    taped = Taped(got("/v1/traces/ingest"), got("/a"), got("/v1/traces/ingest"), optional={place})
    assert [taped.ask(got("/v1/traces/ingest")).index for _ in range(4)] == [0, 2, 2, 2]
    assert list(taped.matcher.never_requested()) == [1]


def test_what_is_optional_is_never_waited_for() -> None:
    taped = Taped(got("/v1/traces/ingest"), got("/a"), optional={got("/v1/traces/ingest").endpoint})
    assert taped.matcher.first_waiting == 1


def test_a_miss_never_poisons_what_follows() -> None:
    taped = Taped(got("/a"), got("/b"))
    assert taped.ask(got("/zzz")).tier is Tier.UNEXPECTED
    assert [taped.ask(got(path)).index for path in ("/a", "/b")] == [0, 1]


def test_an_agent_on_its_path_makes_each_recorded_request_be_read_once() -> None:
    forms = [posted({"turn": turn}) for turn in range(500)]
    taped = Taped(*forms)
    for turn, form in enumerate(forms):
        assert taped.ask(form).index == turn
        assert len(taped.read) == turn + 1


def test_what_was_not_asked_for_is_listed_in_recorded_order() -> None:
    taped = Taped(got("/a"), got("/b"), got("/c"))
    taped.ask(got("/b"))
    assert list(taped.matcher.never_requested()) == [0, 2]
    assert taped.matcher.first_waiting == 0
    taped.ask(got("/a"))
    assert taped.matcher.first_waiting == 2


def keyed(redactor: Redactor, *queries: bytes) -> list[Form]:
    return [live(Asked(Endpoint("GET", "https", "g.example", 443, b"/x"), query), redactor) for query in queries]


def test_c089_a_rotated_key_matches() -> None:
    recorded = keyed(Redactor(), b"key=AIzaREAL&n=1")
    assert Taped(*recorded).ask(keyed(Redactor(), b"key=AIzaOTHER&n=1")[0]) == Match(Tier.SAME, 0)


def test_secrets_are_mapped_one_to_one() -> None:
    recorded = keyed(Redactor(), b"key=A&n=1", b"key=B&n=2", b"key=A&n=3")
    taped = Taped(*recorded)
    turned = keyed(Redactor(), b"key=Y&n=2", b"key=X&n=1", b"key=X&n=3")
    assert [taped.ask(form) for form in turned] == [Match(Tier.SAME, at) for at in (1, 0, 2)]


def test_one_secret_in_the_place_of_two_is_a_drift() -> None:
    taped = Taped(*keyed(Redactor(), b"key=A&n=1", b"key=B&n=2"))
    one = keyed(Redactor(), b"key=X&n=1", b"key=X&n=2")
    assert [taped.ask(form).tier for form in one] == [Tier.SAME, Tier.DRIFTED]


@pytest.mark.parametrize("copies", [1, 7])
def test_a_repeated_turn_is_exhausted_even_while_others_wait(copies: int) -> None:
    turn, later = chat(("user", "q")), chat(("user", "q"), ("assistant", "a"), ("user", "more"))
    taped = Taped(*[turn] * copies, later)
    assert [taped.ask(turn).tier for _ in range(copies + 1)] == [Tier.SAME] * copies + [Tier.EXHAUSTED]
    assert taped.ask(later).tier is Tier.SAME
    assert turn.endpoint == CHAT
