"""Base URLs: what they are spelled like, and what the beginning of a path says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.base import Addressed, BadBase, Base, addressed, prefix

NAMES = st.text(min_size=1, max_size=20)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("https://api.openai.com@9001", Base("https", "api.openai.com", 443, 9001)),
        ("https://api.openai.com", Base("https", "api.openai.com", 443)),
        ("HTTPS://API.OpenAI.com./@9001", Base("https", "api.openai.com", 443, 9001)),
        ("http://127.0.0.1:11434@9002", Base("http", "127.0.0.1", 11434, 9002)),
        ("http://[::1]:8080@9003", Base("http", "::1", 8080, 9003)),
        ("nightly=https://api.anthropic.com@9004", Base("https", "api.anthropic.com", 443, 9004, "nightly")),
        ("https://bücher.example", Base("https", "xn--bcher-kva.example", 443)),
    ],
)
def test_a_base_url_is_a_server_and_a_port(text: str, expected: Base) -> None:
    base = Base.parse(text)
    assert base == expected
    assert Base.parse(str(base)) == base


@pytest.mark.parametrize(
    "text",
    [
        "",
        "api.openai.com@9001",
        "ftp://h@1",
        "https://@9001",
        "https://h@70000",
        "https://h/v1@9001",
        "https://u:p@h@9",
        "https://h:0@1",
        "https://h:x@1",
        "https://h?q@1",
        "https://[::1@1",
        "https://a..b\u00fc@1",
    ],
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadBase) as caught:
        Base.parse(text)
    assert "--reverse" in caught.value.hint


def test_the_usual_port_is_left_out_of_the_host_field() -> None:
    assert Base.parse("https://h.example").authority == "h.example"
    assert Base.parse("http://h.example:443").authority == "h.example:443"
    assert Base.parse("http://[::1]:80").origin == "http://[::1]"


@pytest.mark.parametrize(
    "path, expected",
    [
        (b"/v1/messages?beta=1", Addressed(b"/v1/messages?beta=1")),
        (b"/~run/nightly/v1?q", Addressed(b"/v1?q", "nightly")),
        (b"/~run/a%2Fb:t%3A/v1", Addressed(b"/v1", "a/b", "t:")),
        (b"/~run/nightly", Addressed(b"/", "nightly")),
        (b"/~run/nightly?q=1", Addressed(b"/?q=1", "nightly")),
        (b"/~run/", Addressed(b"/~run/")),
        (b"/v1/~run/x", Addressed(b"/v1/~run/x")),
        (b"/~runs/x/y", Addressed(b"/~runs/x/y")),
    ],
)
def test_the_beginning_of_a_path_names_run_and_token(path: bytes, expected: Addressed) -> None:
    assert addressed(path) == expected


@given(run=NAMES, token=NAMES, rest=st.sampled_from([b"/", b"/v1?a=b", b"/~run/inner/v1"]))
def test_what_is_put_before_a_path_is_taken_off_again(run: str, token: str, rest: bytes) -> None:
    assert addressed(prefix(run, token).encode() + rest) == Addressed(rest, run, token)
    assert addressed(prefix(run).encode() + rest) == Addressed(rest, run)
