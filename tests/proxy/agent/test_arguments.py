"""Secrets on a command line are replaced where command lines carry them, and nothing else is."""

import pytest

from proxy.agent.arguments import redacted
from store.core.redact import Redactor

SECRET = "sk-live-0123456789"


@pytest.mark.parametrize(
    "argv",
    [
        ["agent", "--api-key", SECRET],
        ["agent", f"--api-key={SECRET}"],
        ["env", f"OPENAI_API_KEY={SECRET}", "agent"],
        ["curl", "-H", f"Authorization: Bearer {SECRET}", "https://api.example/"],
        ["curl", f"https://api.example/v1?a=1&key={SECRET}&b=2"],
        ["agent", f"--note=the key is {SECRET}, use it"],
    ],
)
def test_a_secret_is_taken_out(argv: list[str]) -> None:
    out = redacted(argv, Redactor(known=[SECRET]))
    assert not any(SECRET.encode() in argument for argument in out)
    assert any(b"<edgetape:" in argument for argument in out)
    assert len(out) == len(argv)


def test_what_is_no_secret_stays_byte_for_byte() -> None:
    argv = ["python", "agent.py", "--prompt", "v2", "-k", "https://a.example/x?y=z", "--max-tokens=5", "a=b", "x: y"]
    assert redacted(argv, Redactor()) == [argument.encode() for argument in argv]


def test_an_argument_that_is_no_utf8_is_kept() -> None:
    assert redacted(["caf\udce9"], Redactor()) == [b"caf\xe9"]


def test_a_flag_without_a_value_hides_nothing_of_the_next_flag() -> None:
    assert redacted(["agent", "--api-key", "--verbose"], Redactor()) == [b"agent", b"--api-key", b"--verbose"]


def test_the_scheme_and_the_rest_of_a_header_stay_readable() -> None:
    (_, _, header) = redacted(["curl", "-H", f"Authorization: Bearer {SECRET}"], Redactor())
    assert header == b"Authorization: Bearer <edgetape:authorization:1>"


def test_the_password_of_a_user_is_taken_out_as_curl_takes_it() -> None:
    out = redacted(["curl", "-u", "someone:hunter2", "--user", "x:y:z", "-u", "alone"], Redactor())
    assert out[2::2] == [b"someone:<edgetape:key:1>", b"x:<edgetape:key:2>", b"alone"]
