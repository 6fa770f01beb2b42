"""Request targets and authorities."""

import pytest

from replay_server.target import Authority, Target, named, parse
from store.core.errors import Malformed


@pytest.mark.parametrize(
    "raw, target",
    [
        (b"/a?b=c", Target(b"/a", b"b=c")),
        (b"/a%2Fb?x=http://y", Target(b"/a%2Fb", b"x=http://y")),
        (b"*", Target(b"*", b"")),
        (b"http://H.example/a?b", Target(b"/a", b"b", Authority("http", "h.example", 80))),
        (b"http://h.example:8080?q=1", Target(b"/", b"q=1", Authority("http", "h.example", 8080))),
        (b"https://u:p@h.example", Target(b"/", b"", Authority("https", "h.example", 443))),
        (b"ws://h.example/s", Target(b"/s", b"", Authority("http", "h.example", 80))),
        (b"http://[::1]:81/", Target(b"/", b"", Authority("http", "::1", 81))),
        (b"/\xff\xfe", Target(b"/\xff\xfe", b"")),
    ],
)
def test_targets(raw: bytes, target: Target) -> None:
    assert parse(raw) == target


@pytest.mark.parametrize(
    "raw", [b"ftp://h/x", b"http:///x", b"http://h:0/", b"http://h:99999/", b"http://h:123456789/"]
)
def test_bad_targets(raw: bytes) -> None:
    with pytest.raises(Malformed):
        parse(raw)


def test_authorities() -> None:
    assert named(b"h.example", "https") == Authority("https", "h.example", 443)
    assert named(b"::1", "https") == Authority("https", "::1", 443)
    assert named(b"[::1]:8443", "https") == Authority("https", "::1", 8443)
