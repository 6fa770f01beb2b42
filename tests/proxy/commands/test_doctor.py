"""`edgetape doctor` says what here can be recorded, as a table and as data, and by its exit code."""

import json
import shutil
from pathlib import Path

from tests.support.command import Command


def test_what_is_installed_is_tried_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "curl").symlink_to(shutil.which("curl") or "curl")
    command = Command(tmp_path, {"PATH": str(tmp_path / "bin")})
    said = command.run("doctor", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    clients = {client["name"]: client["verdict"] for client in found["clients"]}
    assert clients.pop("curl") == "passes"
    assert set(clients.values()) == {"absent"}
    assert {premise["state"] for premise in found["premises"]} <= {"good", "odd"}
    assert not command.store.exists()


def test_a_program_that_nobody_knows_is_refused_in_words(tmp_path: Path) -> None:
    for program, sentence in (("/nowhere/python3", "no program"), (shutil.which("sh") or "", "no client is known")):
        said = Command(tmp_path).run("doctor", program)
        assert said.code == 2
        assert sentence in said.err
