"""A program finds the recording that it belongs to by its own variables or by those of its ancestors."""

import os
from pathlib import Path

from proxy.agent.surroundings import Nearby, nearby

OURS = {"EDGETAPE_RUN": "r", "HTTP_PROXY": "http://r%40x:secret@127.0.0.1:8484"}


def process(folder: Path, number: int, parent: int, variables: dict[str, str]) -> None:
    place = folder / str(number)
    place.mkdir()
    (place / "environ").write_bytes(b"".join(f"{name}={value}\0".encode() for name, value in variables.items()))
    (place / "stat").write_text(f"{number} (an (odd) name) S {parent} 1 1")


def test_its_own_variables_say_it(tmp_path: Path) -> None:
    assert nearby(OURS, tmp_path) == Nearby("127.0.0.1", 8484, "r@x", "secret")


def test_a_proxy_that_is_none_of_ours_is_no_recording(tmp_path: Path) -> None:
    assert nearby({"HTTP_PROXY": "http://proxy.example:3128"}, tmp_path) is None
    assert nearby({"EDGETAPE_RUN": "r", "HTTP_PROXY": "http://[broken"}, tmp_path) is None
    assert nearby({"EDGETAPE_RUN": "r"}, tmp_path) is None


def test_the_nearest_ancestor_that_knows_it_says_it(tmp_path: Path) -> None:
    process(tmp_path, os.getppid(), 50, {"PATH": "/bin"})
    process(tmp_path, 50, 40, OURS)
    process(tmp_path, 40, 1, {**OURS, "HTTP_PROXY": "http://127.0.0.1:1"})
    assert nearby({}, tmp_path) == Nearby("127.0.0.1", 8484, "r@x", "secret")


def test_where_no_ancestor_can_be_read_there_is_none(tmp_path: Path) -> None:
    assert nearby({}, tmp_path) is None
    process(tmp_path, os.getppid(), os.getppid(), {})
    assert nearby({}, tmp_path) is None
