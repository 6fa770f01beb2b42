"""Where a bundle may lie: in its ZIP, in a folder, in a tar; and that nothing but its members is ever opened."""

import shutil
import tarfile
from pathlib import Path

import pytest

from store.bundle import container
from store.bundle.container import Member, pack
from store.bundle.proof import verify_bundle
from store.bundle.source import names_bundle
from tests.store.bundle.parcel import Parcel, both, found


def unfolded(raw: bytes, folder: Path) -> Path:
    for name, content in Parcel(raw).members.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def tarred(folder: Path, path: Path) -> Path:
    with tarfile.open(path, "w") as archive:
        archive.add(folder, arcname=".")
    return path


def test_a_folder_and_a_tar_of_the_same_tree_verify_too(raw: bytes, tmp_path: Path) -> None:
    folder = unfolded(raw, tmp_path / "tree")
    assert both(folder) == (0, [])
    assert verify_bundle(tarred(folder, tmp_path / "tree.tar")).exit_code == 0
    (folder / "events.ndjson").write_bytes(b"")
    assert both(folder)[0] == 20
    assert verify_bundle(tarred(folder, tmp_path / "tree.tar")).exit_code == 20


def test_links_are_followed_neither_in_a_folder_nor_in_a_tar(raw: bytes, tmp_path: Path) -> None:
    folder = unfolded(raw, tmp_path / "tree")
    shutil.move(folder / "vkey", tmp_path / "vkey")
    (folder / "vkey").symlink_to(tmp_path / "vkey")
    assert both(folder) == (20, [("V105", None)])
    assert found(verify_bundle(tarred(folder, tmp_path / "tree.tar"))) == [("V105", None)]


def test_t37_something_behind_the_end_of_a_tar_is_refused(raw: bytes, tmp_path: Path) -> None:
    path = tarred(unfolded(raw, tmp_path / "tree"), tmp_path / "tree.tar")
    with path.open("ab") as file:
        file.write(b"see here")
    assert found(verify_bundle(path)) == [("V105", None)]


def test_a_container_in_another_order_is_still_the_same_bundle(parcel: Parcel, tmp_path: Path) -> None:
    members = [Member.of(name, content) for name, content in reversed(parcel.members.items())]
    path = tmp_path / "reversed.zip"
    path.write_bytes(b"".join(pack(members)))
    assert both(path) == (0, [])


def test_a_run_and_a_bundle_are_told_apart_by_their_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("here.bundle", "last"):
        (tmp_path / name).touch()
    words = ("last", "last:replay", "a name", "01a2", "v1.2", "x.zip", "y.tar", "z.tape", "./z", "here.bundle")
    assert [word for word in words if names_bundle(word)] == ["x.zip", "y.tar", "z.tape", "./z", "here.bundle"]


@pytest.mark.parametrize("limit", ["FILE_BYTES_MAX", "MEMBERS_MAX"])
def test_t36_a_bundle_beyond_its_limits_is_read_no_further(
    limit: str, raw: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large.zip").write_bytes(raw)
    monkeypatch.setattr(container, limit, 5)
    assert found(verify_bundle(tmp_path / "large.zip")) == [("V106", None)]
