"""The course of a fork: what is recorded, answered otherwise, live, and refused."""

from replay_server.injection import Injection
from replay_server.match import Match, Tier
from replay_server.registry import Deed, Registry
from replay_server.ventures.fork import Fork, idempotency_key

READ = Deed("tools.example.com", 443, "GET", "/rows", "rows", "read", False)
WRITE = Deed("tools.example.com", 443, "POST", "/mail", "mail", "write", False)
MODEL = Deed("api.example.com", 443, "POST", "/v1/messages", "", "read", True)
DONE = 5


def fork(*rules: str, is_step_live: bool = False) -> Fork:
    registry = Registry.of(rules).with_models([("api.example.com", 443)])
    return Fork(3, registry, Injection(status=500), lambda index: index == DONE, is_step_live)


def forked(*rules: str) -> Fork:
    made = fork(*rules)
    assert made.choose(Match(Tier.SAME, 3), READ).course == "inject"
    return made


def test_nothing_goes_live_before_the_step() -> None:
    made = fork("host=* class=write")
    for tier in Tier:
        for asked in (READ, WRITE, MODEL):
            assert made.choose(Match(tier, 2), asked).course == "replay"
            assert made.choose(Match(tier, 4), asked).course == "replay"
    assert not made.has_forked


def test_a_drifted_request_is_not_the_step() -> None:
    made = fork()
    assert made.choose(Match(Tier.DRIFTED, 3), READ).course == "replay"
    assert not made.has_forked


def test_after_the_step_models_go_live_and_tools_are_answered_from_the_recording_or_refused() -> None:
    made = forked()
    assert made.choose(Match(Tier.SAME, 4), MODEL).course == "live"
    assert made.choose(Match(Tier.DRIFTED, 4), MODEL).course == "live"
    assert made.choose(Match(Tier.SAME, 6), READ).course == "replay"
    for tier in (Tier.DRIFTED, Tier.EXHAUSTED, Tier.UNEXPECTED):
        refused = made.choose(Match(tier, 6), READ)
        assert (refused.course, refused.why) == ("refuse", "no rule lets it go live")


def test_what_was_recorded_before_the_step_stays_recorded_when_it_is_asked_late() -> None:
    assert forked("host=*").choose(Match(Tier.SAME, 1), MODEL).course == "replay"
    assert forked("host=*").choose(Match(Tier.OPTIONAL, 9), MODEL).course == "replay"


def test_an_allowed_tool_goes_live_though_the_recording_has_an_answer() -> None:
    assert forked("host=tools.example.com").choose(Match(Tier.SAME, 6), READ).course == "live"
    assert forked("host=tools.example.com class=write").choose(Match(Tier.UNEXPECTED), WRITE).course == "live"


def test_an_effect_that_the_recording_has_done_is_not_done_again_unless_named() -> None:
    allowed = "host=tools.example.com class=write"
    assert forked(allowed).choose(Match(Tier.SAME, DONE), WRITE).course == "replay"
    again = forked(allowed).choose(Match(Tier.EXHAUSTED, DONE), WRITE)
    assert (again.course, "done it already" in again.why) == ("refuse", True)
    assert forked(allowed).choose(Match(Tier.SAME, DONE + 1), WRITE).course == "live"
    assert forked(allowed + " repeat=yes").choose(Match(Tier.SAME, DONE), WRITE).course == "live"


def test_a_live_step_needs_to_be_let_out_and_is_never_answered_from_the_recording() -> None:
    held = fork(is_step_live=True).choose(Match(Tier.SAME, 3), READ)
    assert (held.course, held.why) == ("refuse", "no rule lets it go live")
    assert fork("tool=rows", is_step_live=True).choose(Match(Tier.SAME, 3), READ).course == "live"


def test_the_key_of_an_effect_is_that_of_the_same_fork_and_no_other() -> None:
    keys = {idempotency_key(run, step, body) for run in ("a", "b") for step in (1, 11) for body in (b"", b"1", b"{}")}
    assert len(keys) == 12
    assert idempotency_key("a", 1, b"x") == idempotency_key("a", 1, b"x")
