"""The vectors are what the program makes today: a change of the format shows itself here, byte for byte."""

import pytest

from tests.vectors.make import FOLDER, made

MADE = made()


@pytest.mark.parametrize("name", MADE)
def test_the_script_makes_the_same_bytes_again(name: str) -> None:
    assert (FOLDER / name).read_bytes() == MADE[name].encode(), "run python -m tests.vectors.make if that is meant"


def test_every_file_of_vectors_is_made_by_the_script() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(MADE)
