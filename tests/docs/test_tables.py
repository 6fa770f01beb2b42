"""The specification's tables are those of the code."""

from tests.docs import tamper
from tests.docs.tables import PAGE, written


def test_the_tables_of_the_format_page_are_those_of_the_types() -> None:
    page = PAGE.read_text()
    assert page.count("<!-- table: ") == page.count("<!-- end -->") == 4
    assert written(page) == page, "run `python -m tests.docs.tables`"


def test_the_tamper_matrix_is_published_as_it_is_tested() -> None:
    page = tamper.PAGE.read_text()
    assert page.count("<!-- table: ") == page.count("<!-- end -->") == 3
    assert tamper.written(page) == page, "run `python -m tests.docs.tamper`"
