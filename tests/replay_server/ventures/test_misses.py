"""The course of a replay whose misses go live."""

import pytest

from replay_server.match import Match, Tier
from replay_server.registry import Deed, Registry
from replay_server.ventures.misses import Misses

READ = Deed("tools.example.com", 443, "GET", "/rows", "rows", "read", False)
WRITE = Deed("tools.example.com", 443, "POST", "/mail", "mail", "write", False)
DONE = 5


def misses(*rules: str, repeats: bool = False) -> Misses:
    return Misses(Registry.of(rules), lambda index: index == DONE, repeats)


@pytest.mark.parametrize("tier", [Tier.OPTIONAL, Tier.SAME, Tier.MAPPED, Tier.DRIFTED])
def test_what_the_recording_answers_never_goes_live(tier: Tier) -> None:
    made = misses("host=* class=write")
    assert made.choose(Match(tier, 3), READ).course == "replay"
    assert not made.has_left


def test_a_miss_goes_live_by_a_rule_and_is_refused_without_one() -> None:
    assert misses("host=tools.example.com").choose(Match(Tier.UNEXPECTED), READ).course == "live"
    assert misses("host=tools.example.com").choose(Match(Tier.UNEXPECTED), WRITE).course == "refuse"
    held = misses()
    assert held.choose(Match(Tier.UNEXPECTED), READ).course == "refuse"
    assert not held.has_left


def test_once_something_went_live_what_differs_is_a_miss_too() -> None:
    made = misses("host=*")
    assert made.choose(Match(Tier.DRIFTED, 3), READ).course == "replay"
    made.choose(Match(Tier.UNEXPECTED), READ)
    assert made.has_left
    assert made.choose(Match(Tier.DRIFTED, 3), READ).course == "live"
    assert made.choose(Match(Tier.SAME, 3), READ).course == "replay"


def test_an_effect_that_the_recording_has_done_is_not_done_again() -> None:
    rule = "host=* class=write"
    assert misses(rule).choose(Match(Tier.EXHAUSTED, DONE), WRITE).course == "refuse"
    assert misses(rule + " repeat=yes").choose(Match(Tier.EXHAUSTED, DONE), WRITE).course == "live"


def test_the_last_answer_again_is_no_miss_where_it_was_asked_for() -> None:
    again = Match(Tier.EXHAUSTED, 3, again=True)
    assert misses("host=*", repeats=True).choose(again, READ).course == "replay"
    assert misses("host=*").choose(again, READ).course == "live"
