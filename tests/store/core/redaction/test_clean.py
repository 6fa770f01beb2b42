"""What was looked through before is not looked through again, and nothing is found less often by that."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.redact import Redactor
from store.core.redaction import clean, texts
from store.core.redaction.clean import Clean
from store.core.redaction.spans import Span
from store.core.redaction.stretches import Window

SECRET = b"aB3dE5gH7jK9mN1pQ3sT5vW7yZ"
LATER = b"Zq9-later-learned-4711-xY"
PARTS = [
    b'"api_key": "', b'\\"token\\":\\"', b"password='", b"auth_token=", b"Cookie: a=", b"Bearer ", b" " * 600, b"\n",
    b'"', b"://u:", b"@", b"?sig=", b"&", b"\\", b"-----BEGIN PRIVATE KEY-----", b"-----END", b"sk-", b"ghp_", b"AIza",
    b"eyJ", b"x" * 40, b"x" * 700, b"word " * 30, b"words and words " * 60, SECRET, SECRET[:13], SECRET[13:],
    LATER, LATER[:9],
]  # fmt: skip
BODY = st.lists(st.sampled_from(PARTS), max_size=40).map(b"".join)


def fresh(bodies: list[bytes]) -> list[bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Clean, "version", lambda *_: None)
        return read(bodies)


def read(bodies: list[bytes]) -> list[bytes]:
    redactor, found = Redactor(), list[bytes]()
    for number, body in enumerate(bodies):
        found.append(redactor.body(body).content)
        if number == len(bodies) // 2:
            redactor.header(b"authorization", b"Bearer " + LATER)
    return found


@given(BODY, st.lists(BODY, min_size=2, max_size=5), st.sampled_from([64, 700, texts.WINDOW_BYTES]))
def test_a_conversation_that_grows_is_redacted_as_if_each_request_were_the_first(
    begin: bytes, turns: list[bytes], window: int
) -> None:
    bodies = [begin + b"".join(turns[:number]) for number in range(len(turns) + 1)]
    bodies += [begin + turn for turn in turns]  # the same beginning goes on otherwise
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "WINDOW_BYTES", window)
        assert read(bodies) == fresh(bodies)


def test_what_a_window_could_not_see_is_looked_at_anew() -> None:
    """The value begins in a clean window, and only a later body says that it is a key."""
    begin = b'{"a": "' + b"word " * 3270 + b'", "token": "'
    redactor = Redactor()
    assert redactor.body(begin + b"no key " * 400 + b'"}').exact
    changed = redactor.body(begin + SECRET * 60 + b'"}')
    assert SECRET not in changed.content


def test_the_same_windows_are_looked_through_once() -> None:
    body, looked = b" ".join(b"word%d" % number for number in range(6000)), list[int]()
    redactor, within = Redactor(), texts.within

    def look(window: Window) -> Iterator[Span]:
        looked.append(window.start)
        return within(window)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "within", look)
        redactor.body(body)
        first = len(looked)
        redactor.body(body + b"and more")
    assert first == len(list(texts.windows(len(body))))
    assert len(looked) == first + 1  # the last one goes on


def test_as_many_windows_are_remembered_as_fit() -> None:
    remembered = Clean()
    redactor = Redactor()
    redactor.secrets.clean = remembered
    for number in range(clean.WINDOWS_MAX + 5):
        redactor.body(b"word %d" % number)
    assert len(remembered._versions) == clean.WINDOWS_MAX
