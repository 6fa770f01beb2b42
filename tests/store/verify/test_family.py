"""What a run says of its parent, and the parent of it, is held together: a key does not make a family true."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from store.core import digest
from store.core.draft import Draft
from store.core.model import Parent, RunSpawn
from store.verify import verify
from tests.support.tape import Call, Tape, opening, tape
from tests.support.verifier import verify as second

CALLS = [Call(body=b"{}")]


def child_of(made: Tape, parent: str, seq: int, head: bytes) -> str:
    named = Parent(run=parent, seq=seq, event_hash=head.hex())
    run, _ = made.writer.open_run(Draft(structs.replace(opening("child"), parent=named)))
    return run


def spawn(made: Tape, parent: str, child: str, genesis: str | None = None) -> None:
    begun = genesis or digest.genesis_prev(made.writer.origin, child).hex()
    made.writer.append(parent, Draft(RunSpawn(child=child, genesis=begun))).result()


def judged(base: Path, word: str | None = None) -> list[tuple[str, str, int | None]]:
    """(code, run, seq) of each finding, after seeing that the second verifier finds the same."""
    found = [(each.code, each.run or "", each.seq) for each in verify(base / "store", base / "keys", word).findings]
    other = second(base / "store", base / "keys", word)
    assert sorted((code, run or "", seq) for code, run, seq in other.findings) == sorted(found)
    return found


type Forge = Callable[[Tape, str, int, bytes], tuple[str, str, int]]


def honest(made: Tape, parent: str, seq: int, head: bytes) -> tuple[str, str, int]:
    spawn(made, parent, child_of(made, parent, seq, head))
    return "", "", 0


def other_hash(made: Tape, parent: str, seq: int, head: bytes) -> tuple[str, str, int]:
    child = child_of(made, parent, seq, bytes(32))
    spawn(made, parent, child)
    return "V220", child, 0


def beyond_the_end(made: Tape, parent: str, seq: int, head: bytes) -> tuple[str, str, int]:
    child = child_of(made, parent, seq + 99, head)
    spawn(made, parent, child)
    return "V220", child, 0


def unknown_to_the_child(made: Tape, parent: str, seq: int, head: bytes) -> tuple[str, str, int]:
    spawn(made, parent, made.open("no child of anybody"))
    return "V221", parent, seq + 1


def another_genesis(made: Tape, parent: str, seq: int, head: bytes) -> tuple[str, str, int]:
    spawn(made, parent, child_of(made, parent, seq, head), "0" * 64)
    return "V221", parent, seq + 1


@pytest.mark.parametrize("forge", [honest, other_hash, beyond_the_end, unknown_to_the_child, another_genesis])
@pytest.mark.parametrize("close", [True, False])
def test_a_family_that_does_not_agree_is_named(tmp_path: Path, forge: Forge, close: bool) -> None:
    with tape(tmp_path) as made:
        parent = made.run(CALLS, "parent", close=False)
        last = made.note(parent, b"{}").result()
        assert last is not None
        code, run, seq = forge(made, parent, last.seq, last.hash)
        if close:
            made.writer.close_run(parent, "agent_exit").result()
    assert judged(tmp_path) == ([(code, run, seq)] if code else [])
    assert judged(tmp_path, parent) == []  # of one run alone nothing is known of others


def test_a_child_of_a_run_that_is_not_here_is_no_finding(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        child_of(made, "01a22a41-839e-73cd-8b71-18dfb0f01ede", 3, bytes(32))
    assert judged(tmp_path) == []
