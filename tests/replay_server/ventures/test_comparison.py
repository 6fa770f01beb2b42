"""The course of a comparison: models live, all else by equal arguments in any order, and an end where none is."""

import pytest

from replay_server.match import Match, Tier
from replay_server.registry import Deed, Registry
from replay_server.ventures.comparison import Comparison
from store.core.form import Asked, Endpoint

READ = Deed("tools.example.com", 443, "GET", "/rows", "rows", "read", False)
MODEL = Deed("api.example.com", 443, "POST", "/v1/messages", "", "read", True)
OTHER_MODEL = Deed("else.example.com", 443, "POST", "/v1/messages", "", "read", True)


def comparison(*rules: str, repeats: bool = False, model: str = "") -> Comparison:
    return Comparison(Registry.of(rules).with_models([("api.example.com", 443)]), model, repeats)


@pytest.mark.parametrize("tier", [tier for tier in Tier if tier is not Tier.OPTIONAL])
def test_a_model_is_always_asked_live_whatever_was_recorded(tier: Tier) -> None:
    assert comparison().choose(Match(tier, 3), MODEL).course == "live"
    assert comparison().choose(Match(Tier.OPTIONAL, 3), MODEL).course == "replay"


def test_a_tool_is_never_live_not_even_by_a_rule() -> None:
    made = comparison("host=* class=write")
    assert [made.choose(Match(tier, 3), READ).course for tier in (Tier.SAME, Tier.MAPPED)] == ["replay"] * 2
    for tier in (Tier.DRIFTED, Tier.EXHAUSTED, Tier.UNEXPECTED):
        assert made.choose(Match(tier, 3), READ).course == "leave"


def test_what_is_asked_for_once_more_has_the_last_answer_only_where_that_was_said() -> None:
    again = Match(Tier.EXHAUSTED, 3, again=True)
    assert comparison().choose(again, READ).course == "leave"
    assert comparison(repeats=True).choose(again, READ).course == "replay"
    assert comparison(repeats=True).choose(Match(Tier.EXHAUSTED, 3), READ).course == "leave"


def test_another_model_server_needs_a_rule() -> None:
    assert comparison().choose(Match(Tier.UNEXPECTED), OTHER_MODEL).course == "refuse"
    assert comparison("host=else.example.com").choose(Match(Tier.UNEXPECTED), OTHER_MODEL).course == "live"


def test_connections_are_to_be_had_to_models_alone() -> None:
    made = comparison()
    assert made.dials("api.example.com", 443)
    assert not made.dials("tools.example.com", 443)


def test_a_child_is_answered_from_the_recording_or_ends_the_branch() -> None:
    made = comparison()
    assert made.choose_for_child(Match(Tier.SAME, 1)).course == "replay"
    assert made.choose_for_child(Match(Tier.DRIFTED, 1)).course == "leave"


def test_the_named_model_is_put_in_and_no_other() -> None:
    asked = Asked(Endpoint("POST", "https", "api.example.com", 443, b"/v1/chat"), b"", (), b'{"model": "m1"}')
    assert comparison(model="m2").changed(asked).body == b'{"model": "m2"}'
    assert comparison().changed(asked) is asked
