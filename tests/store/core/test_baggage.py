"""What the context of a trace says."""

import pytest

from store.core.baggage import member


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
