"""The password of a store's URL is taken off the command line, and no word of anybody else's."""

import pytest

from proxy.cover import unseen

URL = "postgresql://me:geheim@db.test/tapes"


@pytest.mark.parametrize("way", [["--store", URL], [f"--store={URL}"]])
@pytest.mark.parametrize(
    "before, after",
    [
        (["-m", "proxy", "-q"], ["record", "--name", "x", "--", "psql", "--store", URL]),
        (["record"], ["--", "agent"]),
        (["record", "--name", "x", "--freeze-time", "--local=record"], ["agent", "--store", URL]),
        (["/bin/edgetape", "show", "last"], ["--html", "-"]),
        (["replay", "last"], ["--", "record", "--store", URL]),
        (["verify"], []),
    ],
)
def test_a_password_goes_into_the_environment(before: list[str], way: list[str], after: list[str]) -> None:
    environment = {"EDGETAPE_STORE": "/another"}
    assert unseen([*before, *way, *after], environment) == [*before, *after]
    assert environment == {"EDGETAPE_STORE": URL}


@pytest.mark.parametrize(
    "words",
    [
        ["--store", "/folder", "record"],
        ["--store", "postgresql://me@db.test/tapes", "record"],
        ["--store", "postgresql://me:geheim@db.test:port/tapes", "record"],
        ["--store", URL, "--store", "/folder", "record"],
        ["record", "agent", "--store", URL],
        ["record", "--freeze-time", "agent", "--store", URL],
        ["mcp", "server", "--store", URL],
        ["replay", "last", "--", "--store", URL],
        ["-m", "proxy", "proxy"],
        ["record", "--store"],
    ],
)
def test_any_other_command_line_stays_as_it_is(words: list[str]) -> None:
    environment: dict[str, str] = {}
    assert (unseen(words, environment), environment) == (words, {})
