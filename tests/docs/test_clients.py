"""The page docs/clients.md says of every client what the program does for it."""

from tests.docs.clients import PAGE, written


def test_the_table_of_clients_is_as_the_program_is() -> None:
    assert written(PAGE.read_text()) == PAGE.read_text(), "python -m tests.docs.clients"
