"""Why the system refused something is told without numbers, paths and addresses."""

import errno

import pytest

from store.reasons import reason


@pytest.mark.parametrize(
    "error, said",
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/x"), "No such file or directory"),
        (
            OSError(errno.EADDRINUSE, "Address already in use (while attempting to bind)"),
            "another program has that port",
        ),
        (OSError(errno.EACCES, "error while attempting to bind on address ('::', 1)"), "Permission denied"),
        (OSError("nothing of the system's"), "nothing of the system's"),
        (ValueError("no text"), "no text"),
    ],
)
def test_only_the_reason_is_told(error: Exception, said: str) -> None:
    assert reason(error) == said
