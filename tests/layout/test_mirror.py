"""Tests mirror the folders of the program."""

from pathlib import Path

from tests.layout.tree import ROOT, source_files

WITHOUT_MIRROR: set[str] = set()  # folders whose tests lie elsewhere, each with its reason


def test_every_folder_with_code_has_a_folder_of_tests() -> None:
    with_code = {path.parent for path in source_files() if path.name != "__init__.py"}
    untested = {
        str(folder)
        for folder in with_code
        if not any(any((ROOT / "tests" / near).glob("test_*.py")) for near in (folder, folder.parent))
    }
    assert untested - WITHOUT_MIRROR == set()


def test_every_floor_is_an_ordinary_package() -> None:
    folders = {path.parent for path in source_files()}
    bare = {str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()}
    assert bare == set()
    assert Path("store/core") in folders
