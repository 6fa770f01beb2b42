"""Each file is small, says first what it is, and says nothing about the machine it was written on."""

import ast
import re

from tests.layout.tree import ROOT, files, python_files

LINES_MAX = 300
# The verifier in every bundle is one file by its nature, and judged as one: by the lines that do something.
LONGER = {"store/bundle/verifier.py": 480}
WRITTEN_BY_HAND = {".py", ".toml", ".html", ".css", ".js", ".sh"}

# The words stand in pieces, so that this file does not break its own rule.
MACHINE_PATH = re.compile(r"""(?:^|[\s"'`=:(\[])/(?:work|root|home|farm|Users)/[\w.-]""", re.MULTILINE)
REGISTRY_HOST = re.compile(
    r"(?:^|[/\s\"'@.])(?:" + "|".join(("pypi" + r"\.org", "pythonhosted" + r"\.org", "npmjs" + r"\.(?:org|com)")) + ")"
)
LEFT_OF_A_MERGE = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
WORKPLACE_WORD = re.compile(
    "|".join(("house" + r"\.md", r"\.\./" + "shared", "the " + "CEO", "filed by a " + "session"))
)


def test_every_python_file_begins_with_a_sentence_that_says_what_it_is() -> None:
    wrong = []
    for path in python_files():
        text = (ROOT / path).read_text()
        said = ast.get_docstring(ast.parse(text)) or ""
        first = said.splitlines()[0] if said else ""
        opens = text.startswith('"""') or (text.startswith("#!") and text.partition("\n")[2].startswith('"""'))
        begins = first[:1].isupper() or first.startswith(("edgetape", "`"))
        if not (opens and begins and first.endswith((".", ":", "?"))):
            wrong.append(f"{path}: {first!r}")
    assert wrong == []


def test_no_file_outgrows_what_one_can_read_at_once() -> None:
    counted = {
        str(path): len((ROOT / path).read_text().splitlines()) for path in files() if path.suffix in WRITTEN_BY_HAND
    }
    assert {path: lines for path, lines in counted.items() if lines > LINES_MAX and path not in LONGER} == {}
    for path, lines_max in LONGER.items():
        assert code_lines((ROOT / path).read_text()) < lines_max, path


def code_lines(source: str) -> int:
    """How many lines are neither empty, nor a comment, nor part of a docstring."""
    told: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            said = node.body[0]
            told |= set(range(said.lineno, (said.end_lineno or said.lineno) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return sum(1 for at, line in lines if at not in told and line.strip() and not line.strip().startswith("#"))


def found(pattern: re.Pattern[str]) -> list[str]:
    """Where a pattern stands in the published text."""
    places = []
    for path in files():
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue  # a binary vector
        for hit in pattern.finditer(text):
            line = text.count("\n", 0, hit.start() + 1) + 1
            places.append(f"{path}:{line}: {hit.group().strip()}")
    return places


def test_no_file_names_a_place_on_one_machine() -> None:
    assert found(MACHINE_PATH) == []


def test_no_file_names_a_package_registry() -> None:
    assert found(REGISTRY_HOST) == []


def test_no_file_speaks_of_the_workplace() -> None:
    assert found(WORKPLACE_WORD) == []


def test_no_file_holds_what_a_merge_left_open() -> None:
    assert found(LEFT_OF_A_MERGE) == []


def test_the_patterns_find_what_they_look_for() -> None:
    assert MACHINE_PATH.search("open('/home/" + "somebody/x')")
    assert not MACHINE_PATH.search("folder/root/x and {base}/work/x")
    assert REGISTRY_HOST.search("https://files.pythonhosted" + ".org/x")
    assert LEFT_OF_A_MERGE.search("\n" + "<" * 7 + " HEAD\n")
    assert WORKPLACE_WORD.search("see ../" + "shared/x")
