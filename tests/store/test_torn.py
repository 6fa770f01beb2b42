"""T58: files that a power cut or a copy left torn: a store is what it was before, or it is not verified."""

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from store.core.errors import EdgetapeError
from store.database import FILE_NAME
from store.memory import Memory, remembered
from store.reader import Reader
from store.verify import Terms, verify
from tests.support.sample import Sample
from tests.support.tape import Call, tape

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24


@dataclass(frozen=True, slots=True)
class Torn:
    """A store whose file holds the run `one`, and whose write-ahead log the run `two`; what its signer remembers."""

    folder: Path
    main: bytes
    wal: bytes
    signed: dict[str, Memory]

    @property
    def page_bytes(self) -> int:
        """The size of a page, as the file says it."""
        return int.from_bytes(self.main[16:18], "big")

    @property
    def frames(self) -> range:
        """Where the frames of the write-ahead log begin."""
        return range(HEADER_BYTES, len(self.wal), FRAME_HEADER_BYTES + self.page_bytes)

    def with_wal(self, wal: bytes | None) -> Path:
        """The store with this write-ahead log, or none, as after a crash."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        (self.folder / FILE_NAME).write_bytes(self.main)
        if wal is not None:
            (self.folder / f"{FILE_NAME}-wal").write_bytes(wal)
        return self.folder


@pytest.fixture(scope="module")
def torn(tmp_path_factory: pytest.TempPathFactory) -> Torn:
    base = tmp_path_factory.mktemp("torn")
    with tape(base) as made:
        made.run([Call()] * 2, "one")
    with tape(base) as made:
        made.run([Call()] * 2, "two")
        made.writer.checkpoint().result(30)
        main, wal = (made.folder / name for name in (FILE_NAME, f"{FILE_NAME}-wal"))
        torn = Torn(base / "torn", main.read_bytes(), wal.read_bytes(), remembered(made.keys))
    assert len(torn.frames) > 20
    return torn


def names(folder: Path) -> set[str]:
    with Reader.open(folder, folder.parent / "keys") as reader:
        return {run.name for run in reader.runs()}


def agreed(torn: Torn, folder: Path) -> bool:
    """Fails unless what is there is a moment of the store, to which its signer says what he has to; whether it is the
    last one.
    """
    verdict = verify(folder, folder.parent / "keys")
    assert (verdict.exit_code, verdict.findings) == (0, ())
    assert names(folder) >= {"one"}
    (known,) = torn.signed.values()
    remembered_by_signer = verify(folder, folder.parent / "keys", terms=Terms(signed=torn.signed))
    assert verdict.checkpoint is not None
    is_last = verdict.checkpoint[0] == known.size
    assert remembered_by_signer.exit_code in ((0,) if is_last else (0, 21))
    assert {each.code for each in remembered_by_signer.findings} <= {"V501"}
    return is_last


def test_c117_a_write_ahead_log_that_is_cut_anywhere_leaves_a_moment_of_before(torn: Torn, sample: Sample) -> None:
    source = sample.source()
    cuts = [0, 10, *torn.frames, *(source.randrange(len(torn.wal)) for _ in range(sample.count(20, 500)))]
    last = [agreed(torn, torn.with_wal(torn.wal[:cut])) for cut in cuts]
    assert not all(last)
    assert agreed(torn, torn.with_wal(torn.wal))


def test_half_a_page_in_the_write_ahead_log_ends_it_there(torn: Torn, sample: Sample) -> None:
    source = sample.source()
    for _ in range(sample.count(20, 500)):
        length = torn.page_bytes // 2
        half = source.choice(torn.frames) + FRAME_HEADER_BYTES + length
        agreed(torn, torn.with_wal(torn.wal[:half] + bytes(length) + torn.wal[half + length :]))


def test_without_its_write_ahead_log_a_store_is_what_it_was_before_and_its_signer_knows(torn: Torn) -> None:
    folder = torn.with_wal(None)
    assert not agreed(torn, folder)
    assert names(folder) == {"one"}
    verdict = verify(folder, folder.parent / "keys", terms=Terms(signed=torn.signed))
    assert [each.code for each in verdict.findings] == ["V501"]
    assert verdict.exit_code == 21


def halves(torn: Torn, source: Random, count: int) -> Iterator[bytes]:
    """The file with half of a page gone, or with that of another page in its place."""
    main, half = torn.main, torn.page_bytes // 2
    pages = range(0, len(main), 2 * half)
    for number in range(count):
        at, other = source.choice(pages) + source.choice((0, half)), source.choice(pages)
        yield main[:at] + (bytes(half) if number % 2 else main[other : other + half]) + main[at + half :]


def test_half_a_page_in_the_file_is_found_or_changes_nothing(torn: Torn, sample: Sample) -> None:
    folder = torn.with_wal(None)
    sound = everything(folder)
    for content in halves(torn, sample.source(), sample.count(30, 500)):
        (folder / FILE_NAME).write_bytes(content)
        try:
            verified = verify(folder, folder.parent / "keys").exit_code == 0
        except EdgetapeError:
            continue
        if verified:
            assert everything(folder) == sound


def everything(folder: Path) -> list[tuple[object, ...]]:
    """All rows that verification is about."""
    connection = sqlite3.connect(f"file:{folder / FILE_NAME}?mode=ro", uri=True)
    tables = ("events", "openings", "payloads", "blocks", "leaves", "nodes", "checkpoints")
    rows = [row for table in tables for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")]
    connection.close()
    return rows
