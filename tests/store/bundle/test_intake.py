"""An import: verified first; then the run is in the other store, proven there, and known for where it is from."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from store.bundle.intake import NotImported, take_in
from store.core.checkpoint import VerifierKey
from store.core.errors import InvalidEvent, StoreUnusable
from store.database import FILE_NAME
from store.erasure import Erasure
from store.reader import Reader
from store.verify import verify
from store.writer import Writer
from tests.store.bundle.conftest import SECRET
from tests.store.bundle.parcel import Parcel, export
from tests.store.verify.attacker import Attacker
from tests.support import verifier as second
from tests.support.tape import Call, tape


def brought(path: Path, base: Path, pin: VerifierKey | None = None) -> list[str]:
    """What an import into the store beneath `base` gives."""
    with contextlib.closing(Writer.open(base / "store", base / "keys")) as writer:
        return take_in(path, writer, pin)[1]


@pytest.fixture
def bundle(raw: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "closed.zip"
    path.write_bytes(raw)
    return path


def test_an_imported_run_is_proven_shown_and_named_with_its_origin(
    recorded: Path, bundle: Path, tmp_path: Path
) -> None:
    with tape(tmp_path / "here") as made:
        made.run([Call(body=b"own")], "own")
    (run,) = brought(bundle, tmp_path / "here")
    here = tmp_path / "here" / "store"
    assert second.verify(here, here.parent / "keys").exit_status == 0
    for word in (None, run, "own"):
        verdict = verify(here, here.parent / "keys", word)
        assert (verdict.exit_code, verdict.findings) == (0, ())
        assert not {"UNSEALED_TAIL", "STALE_CATALOGUE"} & dict(verdict.flags).keys()
    with Reader.open(here, here.parent / "keys") as reader, Reader.open(recorded, recorded.parent / "keys") as source:
        info = reader.find(run)
        assert (info.name, info.origin) == ("closed", source.origin)
        assert info == source.find("closed")
        assert list(reader.events(run)) == list(source.events(run))
        bodies = [reader.body(each, each.facts.body) for each in reader.events(run) if each.type == "http.request"]  # type: ignore[union-attr]
        assert any(SECRET in body for body in bodies)


def test_an_imported_run_is_packed_as_one_that_was_recorded(bundle: Path, tmp_path: Path) -> None:
    (run,) = brought(bundle, tmp_path / "here")
    with contextlib.closing(sqlite3.connect(tmp_path / "here" / "store" / FILE_NAME)) as connection:
        for table, rows in (("events", 0), ("openings", 0), ("event_blocks", 1), ("opening_blocks", 1), ("blocks", 1)):
            query = f"SELECT COUNT(*) FROM {table} WHERE run = ?"
            assert connection.execute(query, (run,)).fetchone() == (rows,), table


@pytest.mark.parametrize("proofs", [False, True])
@pytest.mark.parametrize("seqs", [(1, 2), None], ids=["a step", "all"])
def test_what_was_erased_on_record_stays_so(
    seqs: tuple[int, ...] | None, proofs: bool, recorded: Path, tmp_path: Path
) -> None:
    with contextlib.closing(Writer.open(recorded, recorded.parent / "keys")) as writer:
        with Reader.open(recorded, recorded.parent / "keys") as source:
            run = source.find("closed").id
        writer.erase(Erasure(run, seqs, "privacy", "asked for")).result()
    path = Parcel(export(recorded, "closed", proofs=proofs)).write(tmp_path / "erased.zip")
    assert brought(path, tmp_path / "here") == [run]
    here = tmp_path / "here" / "store"
    verdict = verify(here, here.parent / "keys")
    assert (verdict.exit_code, verdict.findings) == (0, ())
    assert "PAYLOADS_ERASED" in dict(verdict.flags)
    assert second.verify(here, here.parent / "keys").exit_status == 0
    with Reader.open(here, here.parent / "keys") as reader:
        assert reader.standing(run).erased == (frozenset({None}) if seqs is None else frozenset(seqs))


def test_the_log_says_where_it_is_from(recorded: Path, bundle: Path, tmp_path: Path) -> None:
    (run,) = brought(bundle, tmp_path / "here")
    with contextlib.closing(sqlite3.connect(tmp_path / "here" / "store" / FILE_NAME)) as connection:
        leaves = [json.loads(raw) for (raw,) in connection.execute("SELECT leaf FROM leaves ORDER BY position")]
    (leaf,) = [each for each in leaves if each["type"] == "run.import"]
    said = json.loads(Parcel(bundle.read_bytes()).members["manifest.json"])
    assert (leaf["run"], leaf["origin"], leaf["size"], leaf["n"]) == (run, said["origin"], said["size"], 8)


@pytest.mark.parametrize("words", [("closed", "other"), ("open",)])
@pytest.mark.parametrize("proofs", [False, True])
def test_several_runs_open_ones_and_proven_ones_come_in_too(
    words: tuple[str, ...], proofs: bool, recorded: Path, tmp_path: Path
) -> None:
    path = Parcel(export(recorded, *words, proofs=proofs)).write(tmp_path / "some.zip")
    assert len(brought(path, tmp_path / "here")) == len(words)
    assert verify(tmp_path / "here" / "store", tmp_path / "here" / "keys").exit_code == 0


def test_what_does_not_verify_or_is_not_whole_is_refused(recorded: Path, parcel: Parcel, tmp_path: Path) -> None:
    parcel.edit("events.ndjson", 3, lambda record: record.update(port=444))
    parcel.seal()
    with pytest.raises(NotImported, match="V203"):
        brought(parcel.write(tmp_path / "changed.zip"), tmp_path / "here")
    bare = Parcel(export(recorded, "closed", bodies=False)).write(tmp_path / "bare.zip")
    with pytest.raises(NotImported, match="left out"):
        brought(bare, tmp_path / "here")
    (tmp_path / "none.zip").write_bytes(b"none")
    with pytest.raises(NotImported):
        brought(tmp_path / "none.zip", tmp_path / "here")
    with Reader.open(tmp_path / "here" / "store", tmp_path / "here" / "keys") as reader:
        assert reader.runs() == []


def test_a_pin_that_is_not_the_bundles_refuses_it(bundle: Path, tmp_path: Path) -> None:
    true = VerifierKey.parse(Parcel(bundle.read_bytes()).members["vkey"].decode().strip())
    with pytest.raises(NotImported, match="V4"):
        brought(bundle, tmp_path / "here", VerifierKey(true.name, bytes(range(32))))
    assert brought(bundle, tmp_path / "here", true)


def test_a_run_comes_in_once_and_never_into_the_store_it_is_from(recorded: Path, bundle: Path, tmp_path: Path) -> None:
    brought(bundle, tmp_path / "here")
    with pytest.raises(InvalidEvent, match="already"):
        brought(bundle, tmp_path / "here")
    with pytest.raises(InvalidEvent, match="recorded in it"):
        brought(bundle, recorded.parent)


def test_an_imported_run_is_not_exported_again(bundle: Path, tmp_path: Path) -> None:
    (run,) = brought(bundle, tmp_path / "here")
    with pytest.raises(StoreUnusable, match="imported"):
        export(tmp_path / "here" / "store", run)


@pytest.mark.parametrize(
    "change, code",
    [
        (lambda attacker, run: attacker.edit(run, 3, lambda record: record.update(port=444)), "V213"),
        (lambda attacker, run: attacker.drop(run, 7), "V214"),
        (lambda attacker, run: attacker.drop(run, 0, 7), "V210"),
        (
            lambda attacker, run: attacker.leaf(
                attacker.leaf_of("run.import", run), lambda leaf: leaf.update(origin="edgetape.local/other")
            ),
            "V212",
        ),
    ],
)
def test_an_imported_run_is_held_against_its_leaf(change, code: str, bundle: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (run,) = brought(bundle, tmp_path / "here")
    attacker = Attacker(tmp_path / "here" / "store")
    change(attacker, run)
    attacker.close()
    verdict = verify(tmp_path / "here" / "store", tmp_path / "here" / "keys")
    assert verdict.exit_code == second.verify(tmp_path / "here" / "store", tmp_path / "here" / "keys").exit_status == 20
    assert code in {each.code for each in verdict.findings}
