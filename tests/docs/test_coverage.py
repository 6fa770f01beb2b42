"""The page of cases names tests that there are, and each case once."""

import ast
import re

from tests.layout.tree import ROOT, python_files

PAGE = ROOT / "docs" / "coverage.md"
ROW = re.compile(r"^\| (C\d{3}) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
CASE_IN_A_NAME = re.compile(r"_(c\d{3})(?=_)")
WHY_NOT = ("**out of scope**", "**decided otherwise**")


def rows(part: str) -> dict[str, str]:
    """What is said of each case in a part of the page; fails where one stands twice."""
    found = ROW.findall(PAGE.read_text().split(f"## {part}")[1].split("\n## ")[0])
    assert len({case for case, _, _ in found}) == len(found)
    return {case: said for case, _, said in found}


def names() -> set[str]:
    """Every test function."""
    trees = (ast.parse((ROOT / path).read_text()) for path in python_files() if path.parts[0] == "tests")
    functions = (node for tree in trees for node in ast.walk(tree))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in functions if isinstance(node, kinds) and node.name.startswith("test_")}


def test_every_case_stands_once() -> None:
    known, further = rows("Known cases"), rows("Further cases")
    assert not known.keys() & further.keys()
    assert (len(known), len(further)) == (25, 90)


def test_every_test_that_is_named_is_there() -> None:
    there = names()
    for case, said in {**rows("Known cases"), **rows("Further cases")}.items():
        named = set(re.findall(r"`(test_\w+)`", said))
        assert named - there == set(), case
        assert named or any(why in said for why in WHY_NOT), case


def test_a_known_case_has_a_test_of_its_number_and_the_page_names_it() -> None:
    marked = {(case.upper(), name) for name in names() for case in CASE_IN_A_NAME.findall(name)}
    known, every = rows("Known cases"), {**rows("Known cases"), **rows("Further cases")}
    assert known.keys() <= {case for case, _ in marked} <= every.keys()
    for case, name in marked:
        assert f"`{name}`" in every[case]
