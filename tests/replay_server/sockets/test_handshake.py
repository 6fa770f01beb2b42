"""The recorded opening of a WebSocket goes out again with a proof of its own."""

from replay_server.answer import Recorded
from replay_server.sockets.handshake import head, is_socket


def test_the_head_is_the_recorded_one_but_for_the_proof_and_extensions() -> None:
    headers = (
        (b"upgrade", b"WebSocket"),
        (b"SEC-WebSocket-Accept", b"recorded"),
        (b"X-\xe9", b"\xff"),
        (b"Sec-WebSocket-Extensions", b"permessage-deflate"),
        (b"Connection", b"Upgrade"),
    )
    recorded = Recorded(101, b"Switching", headers, "none", "complete")
    assert is_socket(recorded)
    # RFC 6455, section 1.3
    assert head(recorded, b"dGhlIHNhbXBsZSBub25jZQ==") == (
        b"HTTP/1.1 101 Switching\r\nupgrade: WebSocket\r\nSEC-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
        b"X-\xe9: \xff\r\nConnection: Upgrade\r\n\r\n"
    )


def test_another_protocol_is_no_socket() -> None:
    assert not is_socket(Recorded(101, b"", ((b"Upgrade", b"h2c"),), "none", "complete"))
    assert not is_socket(Recorded(200, b"", ((b"Upgrade", b"websocket"),), "none", "complete"))
