"""Names are nouns of the field: one lowercase word a module, and none of the words that mean nothing."""

import ast
import re

from tests.layout.tree import ROOT, python_files, source_files

ONE_WORD = re.compile(r"[a-z][a-z0-9]*")
TWO_WORDS = {
    "replay_server",
    "event_stream",
    "run_tag",
}  # fixed names, or a term of the field that is two words
EMPTY_WORDS = (
    "util",
    "utils",
    "helper",
    "helpers",
    "manager",
    "handler",
    "handlers",
    "misc",
    "common",
    "data",
)
EMPTY_ENDING = re.compile(r"(?:Utils?|Helpers?|Manager|Handler|Data)$")


def test_module_and_folder_names_are_one_lowercase_word() -> None:
    names = {part for path in source_files() for part in path.with_suffix("").parts}
    odd = {name for name in names if not ONE_WORD.fullmatch(name)}
    assert odd - TWO_WORDS - {"__init__", "__main__"} == set()


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    parts = {(path, part) for path in python_files() for part in path.with_suffix("").parts}
    empty = [str(path) for path, part in parts if set(part.split("_")) & set(EMPTY_WORDS)]
    assert empty == []


def test_no_class_has_a_name_that_says_nothing() -> None:
    classes = [
        f"{path}: {node.name}"
        for path in python_files()
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.ClassDef) and EMPTY_ENDING.search(node.name)
    ]
    assert classes == []
