"""The page of soaks: written by the tests themselves, and narrowed runs leave the rest of it alone."""

from tests.support.soak import Row, Run, page, read, versions

NEW = Row("tests/b.py::test_b", "failed", "", 8, "2026-11-02 10:00 UTC")
RUN = Run("2026-11-02 10:00 UTC", 8, "tests/b.py", 2, ("tests/b.py::test_b",), 3.6)


def test_a_narrowed_soak_replaces_its_own_rows_only() -> None:
    plain = Row("tests/a.py::test_a", "passed", "3 kills, 0 lost", 7, "2026-11-01 10:00 UTC")
    first = page("", Run(plain.date, 7, "all tests", 1, (), 90.0), [plain])
    second = page(first, RUN, [NEW])
    assert read(second) == [plain, NEW]
    again = Row(plain.test, "passed", "200 kills, 0 lost", 9, "2026-11-03 10:00 UTC")
    assert read(page(second, RUN, [again])) == [again, NEW]


def test_a_page_says_when_with_what_and_what_came_of_it() -> None:
    text = page("", RUN, [NEW])
    assert "2026-11-02 10:00 UTC, seed 8, tests/b.py: 2 tests in 4 min, FAILED: tests/b.py::test_b" in text
    assert versions() in text
    assert "all passed" in page("", Run("d", 1, "all tests", 5, (), 1.0), [])


def test_a_page_of_another_form_has_no_rows() -> None:
    assert read("# The last soak\n\n| test | measured |\n|---|---|\n| `a` | b |\n") == []
    assert read("") == []
