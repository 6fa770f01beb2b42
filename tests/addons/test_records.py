"""Records are opened and sealed as pyOpenSSL does it, and what is none is left to be found by it."""

from contextlib import suppress
from pathlib import Path

import pytest
import trustme
from OpenSSL import SSL

from addons import records

type Pair = tuple[SSL.Connection, SSL.Connection]

LONG = bytes(range(256)) * 1000  # many records


@pytest.fixture(params=[SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION], ids=["1.2", "1.3"])
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Pair:
    """Two ends of a session that has been opened."""
    trustme.CA().issue_cert("here").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "pem"))
    ours = SSL.Context(SSL.TLS_METHOD)
    ours.use_certificate_chain_file(str(tmp_path / "pem"))
    ours.use_privatekey_file(str(tmp_path / "pem"))
    ours.set_max_proto_version(request.param)
    server, client = SSL.Connection(ours), SSL.Connection(SSL.Context(SSL.TLS_METHOD))
    server.set_accept_state()
    client.set_connect_state()
    for _ in range(3):
        for one, other in ((client, server), (server, client)):
            with suppress(SSL.WantReadError):
                one.do_handshake()
            with suppress(SSL.WantReadError):
                other.bio_write(one.bio_read(records.READ_BYTES_MAX))
    with suppress(SSL.WantReadError):
        client.recv(1)
    return server, client


def test_what_is_sealed_is_opened(pair: Pair) -> None:
    server, client = pair
    for said in (b"x", b"y" * (1 << 14), LONG):
        assert records.opened(client, records.sealed(server, said)) == (said, False)
    assert records.sealed(server, b"") == b""


def test_records_that_come_cut_are_opened_when_they_are_whole(pair: Pair) -> None:
    server, client = pair
    data = records.sealed(server, b"one") + records.sealed(server, b"two")
    assert records.opened(client, data[:-1]) == (b"one", False)
    assert records.opened(client, data[-1:]) == (b"two", False)


def test_a_last_word_behind_data_is_told_and_found_again(pair: Pair) -> None:
    server, client = pair
    data = records.sealed(server, b"the end")
    server.shutdown()
    assert records.opened(client, data + server.bio_read(records.READ_BYTES_MAX)) == (b"the end", True)
    with pytest.raises(SSL.ZeroReturnError):
        client.recv(1)


def test_what_is_no_record_is_told_and_goes_no_further(pair: Pair) -> None:
    server, client = pair
    broken = bytearray(records.sealed(server, b"said"))
    broken[-1] ^= 1
    assert records.opened(client, bytes(broken)) == (b"", True)
    with pytest.raises(SSL.Error):
        client.recv(1)


def test_who_has_said_the_last_word_is_stopped_as_by_pyopenssl(pair: Pair) -> None:
    server, _ = pair
    server.shutdown()
    server.bio_read(records.READ_BYTES_MAX)
    with pytest.raises(SSL.Error, match="shutdown"):
        records.sealed(server, b"more")
    with pytest.raises(SSL.Error, match="shutdown"):
        server.sendall(b"more")
