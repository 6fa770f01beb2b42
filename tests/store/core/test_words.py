"""A noun agrees with its number."""

import pytest

from store.core.words import noun


@pytest.mark.parametrize("number, said", [(0, "leaves"), (1, "leaf"), (2, "leaves"), (21, "leaves")])
def test_only_one_is_singular(number: int, said: str) -> None:
    assert noun(number, "leaf", "leaves") == said


def test_most_nouns_take_an_s() -> None:
    assert (noun(1, "event"), noun(2, "event")) == ("event", "events")
