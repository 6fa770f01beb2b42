"""What an agent is told so that its time and chance are kept, and given again."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from proxy.agent import freezing
from proxy.agent.freezing import Freeze, Icebox

SEED = bytes(range(32))
PRELOAD = Path(freezing.__file__).parent / "preload"
READING = b"\0" * 16


def drawn(folder: Path, program: str) -> str:
    """What a Python program says that draws from the seed, in a folder of its own."""
    folder.mkdir()
    frozen = Icebox(folder).saving({}, Freeze(seed=SEED))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PRELOAD / "python"), **frozen}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_replay_draws_the_same_and_no_two_processes_do(tmp_path: Path) -> None:
    program = (
        "import os, random, secrets, uuid, multiprocessing, subprocess, sys\n"
        "def draw():\n"
        "    print(uuid.uuid4(), random.random(), random.Random().random(), secrets.token_hex(4), flush=True)\n"
        "draw()\n"
        "for _ in range(2):\n"
        "    worker = multiprocessing.get_context('fork').Process(target=draw); worker.start(); worker.join()\n"
        "    subprocess.run([sys.executable, '-c', 'import uuid; print(uuid.uuid4())'])\n"
        "draw(); print(hash('a'))\n"
    )
    first, second = (drawn(tmp_path / name, program) for name in ("first", "second"))
    assert first == second
    words = first.split()
    assert len(set(words)) == len(words) == 4 * 4 + 2 + 1


def test_time_is_kept_beside_what_the_user_loads_and_given_back_with_a_place_for_what_comes_after(
    tmp_path: Path,
) -> None:
    box, freeze = Icebox(tmp_path), Freeze(library=Path("/lib/faketime.so"))
    saving = box.saving({"LD_PRELOAD": "/user.so"}, freeze)
    assert saving["LD_PRELOAD"] == "/lib/faketime.so:/user.so"
    assert {"NO_FAKE_STAT", "FAKETIME_DONT_FAKE_MONOTONIC"} <= saving.keys()
    Path(saving["FAKETIME_SAVE_FILE"]).write_bytes(READING * 2 + b"half")
    assert box.clock() == READING * 2
    giving = box.giving({}, freeze, READING)
    assert Path(giving["FAKETIME_LOAD_FILE"]).read_bytes() == READING
    assert box.readings_past() == 0
    Path(giving["FAKETIME_SAVE_FILE"]).write_bytes(READING * 3)
    assert box.readings_past() == 3


def test_what_was_not_frozen_changes_nothing(tmp_path: Path) -> None:
    box = Icebox(tmp_path)
    assert box.saving({}, freezing.NOTHING) == {}
    assert box.giving({}, Freeze(library=Path("/lib/faketime.so")), b"") == {}
    assert box.clock() == b""


@pytest.mark.parametrize(
    "command, own_chance, hung", [("java", "java", True), ("/usr/bin/ruby3.1", "ruby", False), ("python3", "", False)]
)
def test_commands_that_are_not_reached_are_known_by_name(command: str, own_chance: str, hung: bool) -> None:
    assert freezing.takes_its_own_chance([command, "x"]) == own_chance
    assert freezing.is_hung_by_time([command]) is hung


def test_programs_that_look_past_the_library_are_known_by_how_they_are_linked(tmp_path: Path) -> None:
    def elf(*kinds: int) -> str:
        head = b"\x7fELF\x02\x01" + bytes(26) + struct.pack("<Q", 64) + bytes(14) + struct.pack("<HH", 56, len(kinds))
        made = tmp_path / f"program{len(list(tmp_path.iterdir()))}"
        made.write_bytes(head.ljust(64, b"\0") + b"".join(struct.pack("<I", kind) + bytes(52) for kind in kinds))
        made.chmod(0o755)
        return str(made)

    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert freezing.keeps_its_own_clock([elf(1, 2)])
    assert not freezing.keeps_its_own_clock([elf(6, 3, 1)])
    assert not freezing.keeps_its_own_clock([str(script)])
    assert not freezing.keeps_its_own_clock([sys.executable])
    assert freezing.keeps_its_own_clock(["/usr/local/bin/go", "run", "x.go"])
    assert not freezing.keeps_its_own_clock(["no-such-program"])
