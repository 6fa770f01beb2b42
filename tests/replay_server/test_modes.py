"""Policies, paces and exit codes."""

import math

import pytest

from replay_server.match import Tier
from replay_server.modes import NotAllowed, Pace, Policy, exit_code

NOTHING = dict.fromkeys(
    ("failed", "unserved", "refused", "unexpected", "exhausted", "drifted", "reordered", "never_requested"), 0
)


@pytest.mark.parametrize(
    "found, code",
    [
        ((), 7),
        (("never_requested",), 42),
        (("drifted", "never_requested"), 40),
        (("reordered", "never_requested"), 40),
        (("unexpected", "drifted", "never_requested"), 41),
        (("exhausted", "reordered"), 41),
        (("refused", "unexpected", "drifted", "never_requested"), 43),
        (("failed", "refused"), 125),
        (("unserved", "refused"), 125),
    ],
)
def test_the_gravest_finding_decides_and_a_clean_replay_has_the_agents_code(found: tuple[str, ...], code: int) -> None:
    assert exit_code(NOTHING | dict.fromkeys(found, 1), 7) == code


def test_an_unknown_agent_counts_as_well() -> None:
    assert exit_code(NOTHING, None) == 0


def test_what_is_done_about_each_tier() -> None:
    stop, serve = Policy("stop"), Policy("serve")
    assert [stop.act(tier) for tier in Tier] == ["serve", "serve", "serve", "stop", "refuse", "refuse"]
    assert [serve.act(tier) for tier in Tier] == ["serve", "serve", "serve", "serve", "refuse", "refuse"]


@pytest.mark.parametrize("ci", [True, False])
@pytest.mark.parametrize("choice", ["live", "record"])
def test_a_replay_never_goes_live(choice: str, ci: bool) -> None:
    with pytest.raises(NotAllowed) as caught:
        Policy(on_miss=choice).check(ci=ci)  # type: ignore[arg-type]
    assert ("CI" in str(caught.value)) == ci
    Policy().check(ci=ci)


@pytest.mark.parametrize("text, wait_s", [("instant", 0.0), ("recorded", 2.0), ("2", 1.0), ("0.5x", 4.0)])
def test_pace(text: str, wait_s: float) -> None:
    assert Pace.parse(text).wait_s(2_000_000) == wait_s
    assert not math.isnan(Pace.parse(text).speed)


@pytest.mark.parametrize("text", ["", "fast", "0", "-1", "nan"])
def test_what_is_no_pace_is_refused(text: str) -> None:
    with pytest.raises(NotAllowed):
        Pace.parse(text)
