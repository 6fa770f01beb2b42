"""The hello of real TLS clients, and of anything else."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay_server.hello import insists, protocols


def hello(*offered: str) -> bytes:
    """The first bytes that OpenSSL sends."""
    context = ssl.create_default_context()
    if offered:
        context.set_alpn_protocols(list(offered))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="api.example.com")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_what_a_client_offers() -> None:
    assert protocols(hello("h2", "http/1.1")) == (b"h2", b"http/1.1")
    assert protocols(hello("h2")) == (b"h2",)
    assert protocols(hello()) == ()


def test_who_insists_on_something_else() -> None:
    assert insists(hello("h2"))
    assert not any(insists(hello(*offered)) for offered in ((), ("http/1.1",), ("h2", "http/1.1")))


def test_a_hello_that_has_not_come_whole_offers_nothing_yet_and_breaks_nothing() -> None:
    whole = hello("h2")
    for length in range(len(whole)):
        assert protocols(whole[:length]) == ()


@given(st.binary(max_size=300))
def test_anything_else_offers_nothing(raw: bytes) -> None:
    assert isinstance(protocols(raw), tuple)
    assert isinstance(protocols(b"\x16\x03\x01" + raw), tuple)
