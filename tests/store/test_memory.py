"""What a signer remembers is read as it was written, and nothing else is."""

from pathlib import Path

import pytest

from store.core.errors import Malformed
from store.memory import Memory, path, remembered

ORIGIN = "edgetape.local/abc"


def test_it_comes_back_from_its_file(tmp_path: Path) -> None:
    known = Memory(7, bytes(range(32)))
    path(tmp_path, ORIGIN).write_bytes(known.line)
    assert remembered(tmp_path) == {"edgetape.local_abc": known}
    assert len(Memory(10**15, bytes(32)).line) == len(known.line)


@pytest.mark.parametrize("line", [b"x", b"-1 " + b"00" * 32, b"7 00", b"7", b"\xff \xff"])
def test_what_is_damaged_is_no_memory(line: bytes, tmp_path: Path) -> None:
    with pytest.raises(Malformed):
        Memory.parse(line)
    path(tmp_path, ORIGIN).write_bytes(line)
    assert remembered(tmp_path) == {}


def test_nothing_is_remembered_where_nothing_is(tmp_path: Path) -> None:
    assert Memory.parse(b"") == Memory()
    assert remembered(tmp_path / "no such folder") == {}
