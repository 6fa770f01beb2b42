"""Hosts and lengths are read as HTTP has them, and a host stays as it was named."""

import pytest

from addons.grammar import is_valid_host, parse_authority, parse_content_length


@pytest.mark.parametrize(
    "authority, expected",
    [
        (b"api.example:443", ("api.example", 443)),
        (b"API.Example.", ("API.Example.", None)),
        (b"xn--j1ay.xn--p1ai:80", ("xn--j1ay.xn--p1ai", 80)),
        (b"xn--fa-hia.example", ("xn--fa-hia.example", None)),
        ("bücher.example:1", ("bücher.example", 1)),
        ("bücher.example".encode(), ("bücher.example", None)),
        (b"foo_bar:1", ("foo_bar", 1)),
        (b"127.0.0.1:8080", ("127.0.0.1", 8080)),
        (b"[::1]:443", ("::1", 443)),
        (b"[fe80::1%eth0]", ("fe80::1%eth0", None)),
    ],
)
def test_an_authority_is_read_as_it_was_named(authority: str | bytes, expected: tuple[str, int | None]) -> None:
    assert parse_authority(authority, check=True) == expected


@pytest.mark.parametrize(
    "authority", [b"", b":80", b"a b", b"::1", b"[::1", b"h:66000", b"h:x", b"a..b", b"\xff", b"h" * 64, b"u@h"]
)
def test_what_is_no_authority_is_refused_where_it_is_checked(authority: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # as the function whose place it takes
        parse_authority(authority, check=True)
    assert parse_authority(authority, check=False) == (authority.decode("utf-8", "surrogateescape"), None)
    assert parse_authority("", check=False) == ("", None)


def test_a_host_may_come_as_bytes() -> None:
    assert is_valid_host(b"xn--fa-hia.example")
    assert not is_valid_host(b"a\xff")


@pytest.mark.parametrize("value, length", [(b"0", 0), ("12", 12), (b"0012", 12)])
def test_a_length_may_have_zeros_in_front(value: str | bytes, length: int) -> None:
    assert parse_content_length(value) == length


@pytest.mark.parametrize("value", [b"", b"-1", b"+1", b"1,1", b"0x1", "\u0661", b" 1"])
def test_what_is_no_length_is_refused(value: str | bytes) -> None:
    with pytest.raises(ValueError, match="content-length"):
        parse_content_length(value)
