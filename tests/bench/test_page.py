"""The page of measured figures: a section is written in its own place, and no other is touched."""

from pathlib import Path

from bench.page import write


def test_sections_are_kept_apart_and_written_over(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    write("size", "| 1 |\n", page)
    write("verify", "| 2 |", page)
    both = page.read_text()
    assert both.startswith("# Measured\n")
    assert both.index("## size") < both.index("| 1 |") < both.index("## verify") < both.index("| 2 |")
    write("size", r"| \1 |", page)
    assert page.read_text() == both.replace("| 1 |", r"| \1 |")


def test_writing_the_same_again_changes_nothing(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    write("size", "| 1 |", page)
    before = page.read_text()
    write("size", "| 1 |", page)
    assert page.read_text() == before
