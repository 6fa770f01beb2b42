"""A recording that saw nothing says why, as far as that can be known."""

import pytest

from proxy.views.silence import Noticed, challenge, likely_cause


@pytest.mark.parametrize(
    "noticed, sentence, hint",
    [
        (Noticed(0, {}, 0), "nothing connected to the recorder", "ignore HTTPS_PROXY"),
        (Noticed(0, {}, 1), "exit code 1", "what it said above"),
        (Noticed(2, {}, 0), "in 2 tunnels", "edgetape show"),
        (Noticed(0, {"api.example": 3}, 1), "does not trust edgetape's authority for api.example", "--on-distrust"),
        (Noticed(1, {"api.example": 3}, 1), "does not trust edgetape's authority for api.example", "SSL_CERT_FILE"),
        (Noticed(2, {"api.example": 1}, 0), "passed unopened, in 2 tunnels", "to have it recorded"),
    ],
)
def test_the_likeliest_cause_is_named_with_what_to_do(noticed: Noticed, sentence: str, hint: str) -> None:
    cause = likely_cause(noticed)
    assert sentence in cause.sentence
    assert hint in cause.hint


def test_an_agent_that_spoke_with_the_recorder_alone_did_connect() -> None:
    cause = likely_cause(Noticed(0, {}, 1), told=3)
    assert "spoke with the recorder alone (3 values and notes)" in cause.sentence
    assert "nothing connected" not in cause.sentence


def test_a_host_name_cannot_drive_the_terminal() -> None:
    assert "\x1b" not in likely_cause(Noticed(0, {"\x1b[2J.example": 1}, 0)).sentence
    assert "\x1b" not in challenge("\x1b[2J.example", 1).hint
