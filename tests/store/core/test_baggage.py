"""What the context of a trace says."""

import pytest

from store.core.baggage import member, run_named


@pytest.mark.parametrize(
    "baggage, expected",
    [
        ("edgetape.run=nightly", "nightly"),
        ("a=b , edgetape.run = night%20ly;ttl=1, edgetape.run=second", "night ly"),
        ("edgetape.runs=x,edgetape.run", ""),
        ("edgetape.run=caf%C3%A9==", "caf\u00e9=="),
        ("", ""),
    ],
)
def test_a_member_is_found_by_its_key(baggage: str, expected: str) -> None:
    assert member(baggage, "edgetape.run") == expected


def test_the_run_of_a_request_is_named_by_our_header_or_else_by_its_baggage() -> None:
    baggage = [(b"Baggage", b"a=1"), (b"baggage", b"edgetape.run=part%20two;p=1")]
    assert run_named(baggage) == "part two"
    assert run_named([*baggage, (b"X-Edgetape-Run", b" own ")]) == "own"
    assert run_named([(b"Accept", b"*/*")]) == ""
