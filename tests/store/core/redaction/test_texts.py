"""A text is looked through where a name can stand before a value; nothing is found less often by that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.redaction import texts
from store.core.redaction.spans import Span

SECRET = b"aB3dE5gH7jK9mN1pQ3sT5vW7yZ"
PARTS = [
    b'"api_key"', b'\\"Password\\"', b"AUTH_TOKEN", b"secret", b"cookie", b"Bearer ", b"basic ", b"signature", b"Id",
    b"client", b"_name", b" ", b"    ", b"\n", b":", b"=", b"=>", b":=", b"?", b"&", b"/", b"://", b"@", b'"', b"'",
    b"\\", b"\\" * 15, b"\\" * 16, b"x" * 20, b"word " * 30, SECRET, b'"' + SECRET + b'"', b'\\"' + SECRET + b'\\"',
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS), max_size=24).map(b"".join)


def found(content: bytes, values_max: int, window: int) -> list[Span]:
    """What is found when windows with more than so many values are looked through whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "_VALUES_MAX", values_max)
        patch.setattr(texts, "WINDOW_BYTES", window)
        return [span for start, stop in texts.windows(len(content)) for span in texts.find(content, start, stop)]


@given(TEXTS, st.sampled_from([48, 160, texts.WINDOW_BYTES]))
def test_looking_before_values_finds_what_looking_everywhere_finds(content: bytes, window: int) -> None:
    assert found(content, texts._VALUES_MAX, window) == found(content, -1, window)


def test_a_name_before_a_lonely_value_is_found_in_a_long_text() -> None:
    content = b"word " * 4000 + b'"api_key": "' + SECRET + b'"' + b" word" * 4000
    assert [span.secret for span in found(content, texts._VALUES_MAX, texts.WINDOW_BYTES)] == [SECRET]
