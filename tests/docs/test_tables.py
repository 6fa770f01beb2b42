"""The specification's tables are those of the code."""

from tests.docs.tables import PAGE, written


def test_the_tables_of_the_format_page_are_those_of_the_types() -> None:
    page = PAGE.read_text()
    assert page.count("<!-- table: ") == page.count("<!-- end -->") == 3
    assert written(page) == page, "run `python -m tests.docs.tables`"
