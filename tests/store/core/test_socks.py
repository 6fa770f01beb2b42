"""The SOCKS5 handshake, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core import socks
from store.core.socks import Asked, Refused, handshake

PLAIN, LOGGED_IN = b"\x05\x01\x00", b"\x05\x02\x00\x02" + b"\x01\x03run\x01x"


def talk(sent: bytes) -> tuple[Asked, bytes, bytes]:
    """What a client that sends all at once asks for, what it is told, and what of its bytes is left."""
    going, told = handshake(), b""
    wants = next(going)
    try:
        while True:
            if isinstance(wants, int):
                assert len(sent) >= wants
                given, sent = sent[:wants], sent[wants:]
                wants = going.send(given)
            else:
                told += wants
                wants = going.send(b"")
    except StopIteration as end:
        return end.value, told, sent


@pytest.mark.parametrize(
    "place, host, port",
    [
        (b"\x01\x7f\x00\x00\x01\x00\x50", b"127.0.0.1", 80),
        (b"\x03\x0bexample.com\x01\xbb", b"example.com", 443),
        (b"\x04" + bytes(15) + b"\x01\x1f\x90", b"[::1]", 8080),
    ],
)
def test_a_connection_is_asked_for_by_address_or_name(place: bytes, host: bytes, port: int) -> None:
    asked, told, left = talk(PLAIN + b"\x05\x01\x00" + place + b"early")
    assert (asked, told, left) == (Asked(host, port), b"\x05\x00", b"early")
    assert asked.head == b"CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (host, port, host, port)


def test_user_name_and_password_are_taken_where_they_are_offered() -> None:
    asked, told, _ = talk(LOGGED_IN + b"\x05\x01\x00\x03\x01h\x00\x50")
    assert asked == Asked(b"h", 80, b"run", b"x")
    assert told == b"\x05\x02\x01\x00"
    assert b"\r\nProxy-Authorization: Basic cnVuOng=\r\n" in asked.head


@pytest.mark.parametrize(
    "sent, last_words",
    [
        (b"\x04\x01\x00", b""),
        (b"\x05\x01\x01", b"\x05\xff"),
        (b"\x05\x00", b"\x05\xff"),
        (PLAIN + b"\x05\x02\x00\x01", socks.reply(7)),
        (PLAIN + b"\x05\x03\x00\x01", socks.reply(7)),
        (PLAIN + b"\x05\x01\x00\x05", socks.reply(8)),
        (PLAIN + b"\x05\x01\x00\x03\x00\x00\x50", socks.reply(8)),
        (b"\x05\x01\x02\x01\x03a:b\x01x", b"\x01\x01"),
    ],
)
def test_what_cannot_be_served_is_told_so(sent: bytes, last_words: bytes) -> None:
    with pytest.raises(Refused) as caught:
        talk(sent)
    assert caught.value.last_words == last_words


@given(name=st.binary(min_size=1, max_size=40), user=st.binary(max_size=20), password=st.binary(max_size=20))
def test_nothing_in_a_name_gets_out_of_its_place(name: bytes, user: bytes, password: bytes) -> None:
    said = b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password
    sent = b"\x05\x01\x02" + said + b"\x05\x01\x00\x03" + bytes([len(name)]) + name + b"\x00\x50"
    try:
        asked, _, left = talk(sent)
    except Refused:
        return
    assert left == b""
    lines = asked.head.split(b"\r\n")
    assert lines[0].split(b" ") == [b"CONNECT", name + b":80", b"HTTP/1.1"]
    assert len(lines) == (5 if user or password else 4)
