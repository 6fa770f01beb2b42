"""Identifiers are found in what was asked and said, however long it is."""

import re
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from replay_server.spoken import Said, Spoken, words

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{6,}[A-Za-z0-9]")
_DATE = re.compile(r"(19|20)\d\d-?[01]\d-?[0-3]\d")
_LETTERS = st.sampled_from("aZ09 12-._@é/\n٣😀")


@given(st.lists(st.text(_LETTERS, max_size=60), max_size=4))
def test_a_word_is_eight_characters_or_more_with_a_digit_among_others_and_no_date(texts: list[str]) -> None:
    found = {word for text in texts for word in _WORD.findall(text)}
    mixed = {word for word in found if re.search("[0-9]", word) and re.search("[A-Za-z-]", word)}
    assert words(texts) == {word for word in mixed if not _DATE.match(word)}


def test_what_stands_between_other_signs_is_found_and_a_day_is_not() -> None:
    said = "see (call_7f3a9b21), <ord-20240131>, on 2024-01-31; ébc12345678 and 123456789"
    assert words([said]) == {"call_7f3a9b21", "ord-20240131", "bc12345678"}


def spoken(leaves: frozenset[str], answer: list[str]) -> Spoken:
    """An exchange whose answers are taken off a list."""
    said = partial(answer.pop, 0)
    return Spoken(leaves, None, True, "r", ("h", 443), "read", 1, 2, lambda: Said(said(), (), tuple))


def test_an_answer_is_read_for_a_request_that_could_quote_it_and_once() -> None:
    answers = ["what was answered at some length", "another"]
    early = spoken(frozenset(), answers)
    assert not spoken(frozenset({"q", "a short text"}), []).quotes(early)
    assert len(answers) == 2
    assert spoken(frozenset({"they said: what was answered at some length."}), []).quotes(early)
    assert not spoken(frozenset({"a text that is long enough to quote"}), []).quotes(early)
    assert answers == ["another"]
