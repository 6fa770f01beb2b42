"""A body that is not in memory is stored as it is read, all of it or nothing; and is a body like any other."""

import random
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from store import payloads
from store.core.draft import Draft, Sheet
from store.core.errors import EdgetapeError, StoreUnusable
from store.core.model import Note
from store.core.redact import Long
from store.pile import MEMORY_BYTES_MAX, Pile
from store.reader import Reader
from store.splices.livelog import Stored
from store.splices.stream import Span
from store.verify import verify
from tests.support.tape import Tape

MIB = 1 << 20
CONTENT = random.Random(7).randbytes(2 * MIB + 77) + b"all the same " * 200_000


def pieces() -> Iterator[bytes]:
    yield from (CONTENT[at : at + 100_001] for at in range(0, len(CONTENT), 100_001))


def noted(made: Callable[[], Iterator[bytes]], length: int) -> Draft:
    sheet = Sheet()
    return sheet.draft(Note(kind="state", body=sheet.apart(Long(length, made, length), "application/octet-stream")))


def bodies(made: Tape, run: str) -> list[bytes]:
    with Reader.open(made.folder, made.keys) as reader:
        facts = [(event, event.facts) for event in reader.events(run)]
        return [reader.body(event, fact.body) for event, fact in facts if isinstance(fact, Note)]


def test_a_long_body_is_one_like_any_other(open_tape: Tape, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    insert = payloads.insert

    def watched(connection: object, run: str, blocks: object) -> None:
        stored = list(blocks)  # type: ignore[call-overload]
        rows.append(sum(len(each.stored) for each in stored))
        insert(connection, run, stored)  # type: ignore[arg-type]

    monkeypatch.setattr(payloads, "insert", watched)
    run = open_tape.open()
    before = open_tape.note(run, b"before")
    long = open_tape.writer.append(run, noted(pieces, len(CONTENT)))
    after = open_tape.note(run, b"after")
    assert [ticket.result(60).seq for ticket in (before, long, after)] == [1, 2, 3]  # type: ignore[union-attr]
    assert max(rows) < 1.2 * MIB  # never all at once
    assert bodies(open_tape, run) == [b"before", CONTENT, b"after"]
    open_tape.writer.close_run(run, "agent_exit").result(60)
    open_tape.writer.close()
    assert bodies(open_tape, run) == [b"before", CONTENT, b"after"]
    assert verify(open_tape.folder, open_tape.keys).exit_code == 0


def test_one_that_cannot_be_read_to_its_end_leaves_nothing_behind(open_tape: Tape) -> None:
    def short() -> Iterator[bytes]:
        yield CONTENT[: 3 * MIB]

    def broken(error: Exception) -> Callable[[], Iterator[bytes]]:
        def read() -> Iterator[bytes]:
            if not next(times):  # it is hashed before it is stored
                yield from pieces()
                return
            yield CONTENT[: 3 * MIB]
            raise error

        times = count()
        return read

    run = open_tape.open()
    kept = open_tape.note(run, b"kept")
    with pytest.raises(StoreUnusable, match="differs by"):
        open_tape.writer.append(run, noted(short, len(CONTENT))).result(60)
    for error in (StoreUnusable("the disk is gone"), ValueError("of ours")):
        with pytest.raises(EdgetapeError):
            open_tape.writer.append(run, noted(broken(error), len(CONTENT))).result(60)
    later = open_tape.note(run, b"later")
    assert [ticket.result(60).seq for ticket in (kept, later)] == [1, 2]  # type: ignore[union-attr]
    assert bodies(open_tape, run) == [b"kept", b"later"]
    open_tape.writer.close_run(run, "agent_exit").result(60)
    assert verify(open_tape.folder, open_tape.keys).exit_code == 0


def test_many_packed_blocks_wait_in_a_file_and_come_back(tmp_path: Path) -> None:
    blocks = [Stored(Span(number, number, 1, number), bytes([number]) * (MIB * 3)) for number in range(4)]
    assert sum(len(each.stored) for each in blocks) > MEMORY_BYTES_MAX
    pile = Pile(iter(blocks), tmp_path)
    assert (len(pile), pile.stored_bytes) == (4, 12 * MIB)
    assert list(pile) == list(pile) == blocks
    with pytest.raises(StoreUnusable, match="no room to pack"):
        Pile(iter(blocks), tmp_path / "none")
