"""Sizes, durations and foreign text read as they should."""

import pytest

from proxy.words import count, duration, folded, microseconds_between, moment, printable, shown, size


@pytest.mark.parametrize(
    "number, words",
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (9_949, "9.9 KB"),
        (9_960, "10 KB"),
        (999_499, "999 KB"),
        (999_500, "1.0 MB"),
        (3_400_000_000_000_000, "3400 TB"),
    ],
)
def test_a_size_has_two_digits_or_more(number: int, words: str) -> None:
    assert size(number) == words


@pytest.mark.parametrize(
    "microseconds, words",
    [
        (0, "0 us"),
        (999, "999 us"),
        (1_000, "1 ms"),
        (999_499, "999 ms"),
        (999_500, "1.0 s"),
        (9_990_000, "10 s"),
        (125_000_000, "2 min 5 s"),
        (3_720_000_000, "1 h 2 min"),
    ],
)
def test_a_duration_is_told_in_the_unit_that_fits(microseconds: int, words: str) -> None:
    assert duration(microseconds) == words


def test_what_came_over_the_wire_cannot_drive_a_terminal() -> None:
    assert printable("\x1b]0;title\x07 a\x9bb\r\u202e") == "\\x1b]0;title\\x07 a\\x9bb\\r\\u202e"
    assert printable("two\n\tlines") == "two\n\tlines"
    assert printable("two\n\tlines", one_line=True) == "two\\n\\tlines"


def test_bytes_that_are_no_text_are_spelled_out() -> None:
    assert shown(b"caf\xe9") == "caf\\xe9"


def test_a_long_text_is_folded_in_its_middle() -> None:
    text = "/v1/" + "x" * 200 + "/end"
    short = folded(text, 40)
    assert len(short) == 40
    assert short.startswith("/v1/")
    assert short.endswith("/end")
    assert folded("short", 40) == "short"


def test_numbers_and_times_are_told_in_words() -> None:
    assert count(1, "exchange") == "1 exchange"
    assert count(1200, "entry", "entries") == "1,200 entries"
    assert moment("2026-11-29T14:03:05.123456Z") == "2026-11-29 14:03:05Z"
    assert microseconds_between("2026-11-29T14:03:05.000000Z", "2026-11-29T14:03:06.500001Z") == 1_500_001
