"""What a report prints of foreign text can be read on one line, and pasted."""

import shutil
import subprocess

import pytest

from replay_server import paste

ODD = [
    "body /plain",
    "body /it's",
    "body /a b/$HOME/`id`",
    'query "q"',
    "body /ü/日本",
    "body /two\nlines\t\\ it's\x1b[31m",
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize("text", ODD)
def test_a_shell_reads_back_the_word_that_was_printed(text: str) -> None:
    script = f"printf %s {paste.word(text)}"
    assert subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout.decode() == text


@pytest.mark.parametrize("text", ODD)
def test_word_and_line_stay_on_one_line_and_drive_no_terminal(text: str) -> None:
    assert paste.word(text).isprintable()
    assert paste.line(text).isprintable()
