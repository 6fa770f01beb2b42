"""A file that cannot be written is named in one sentence, by every verb that writes one; an older one stays."""

from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import Folders, folders, record_tape


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    made = folders(tmp_path_factory.mktemp("output"))
    record_tape(made)
    return made


@pytest.mark.parametrize(
    "words, code, sentence",
    [
        (("show", "last", "--html", "{full}"), 3, "the page cannot be written to {full}: No space left on device"),
        (("show", "last", "--html", "{file}/x"), 3, "the page cannot be written to {file}/x: "),
        (("find", "GB-SCT", "--reports", "{file}/x"), 3, "the report cannot be written to {file}/x/"),
        (("export", "--verifier", "{full}"), 3, "the verifier cannot be written to {full}: No space left on device"),
        (("export", "last", "-o", "{full}"), 3, "the bundle cannot be written to {full}: No space left on device"),
        (("pin", "last", "-o", "{file}/x"), 3, "the bundle cannot be written to {file}/x: "),
        (("compare", "last", "last", "--report", "{full}"), 125, "the report cannot be written to {full}: No space"),
        (("compare", "last", "last", "--report", "{file}/x/y"), 2, "{file} takes no new file"),
        (("replay", "last", "--junit", "{file}/x/y"), 2, "{file} takes no new file"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, sentence: str
) -> None:
    full, file = tmp_path / "full", tmp_path / "file"
    full.symlink_to("/dev/full")
    file.write_text("letter")
    said = {"full": full, "file": file}
    assert run([*place.options, *(word.format(**said) for word in words)]) == code
    assert sentence.format(**said) in capsys.readouterr().err
    assert file.read_text() == "letter"
    assert {each.name for each in tmp_path.iterdir()} == {"full", "file"}
