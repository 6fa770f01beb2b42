"""The messages that mitmproxy really gives lead to the right kind of failure."""

import pytest

from addons.failures import Side, ended, error_kind
from store.core.model import ErrorKind

CASES: list[tuple[str, Side, ErrorKind]] = [
    ("[Errno -2] Name or service not known", "server", "dns"),
    ("[Errno -3] Temporary failure in name resolution", "server", "dns"),
    ("[Errno 8] nodename nor servname provided, or not known", "server", "dns"),
    ("[Errno 111] Connect call failed ('127.0.0.1', 1)", "server", "connect"),
    ("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), [Errno 111] ...", "server", "connect"),
    ("[Errno 113] No route to host", "server", "connect"),
    ("Upstream proxy 127.0.0.1:1 refused HTTP CONNECT request: 407 no", "server", "connect"),
    ("[Errno 110] Connection timed out", "server", "connect"),
    ("server closed connection", "server", "reset"),
    ("HTTP/1 protocol error: peer closed connection without sending complete message body", "server", "reset"),
    ("unexpected server response: b'[Errno -2] timed out'", "server", "reset"),
    ("Connection killed: not this way", "server", "refused"),
    (
        "Received multiple content-length headers from client, refusing to prevent request",
        "client",
        "refused",
    ),
    ("Client disconnected.", "client", "client_gone"),
    ("stream reset by client (CANCEL)", "client", "client_gone"),
    ("stream reset by client (INTERNAL_ERROR)", "server", "reset"),
]


@pytest.mark.parametrize("message, side, expected", CASES)
def test_a_message_tells_the_kind(message: str, side: Side, expected: ErrorKind) -> None:
    assert error_kind(message, side, tls_failed=False, silent=False) == expected


def test_a_failed_handshake_and_a_long_silence_are_told_apart_by_what_else_is_known() -> None:
    assert error_kind("connection closed", "server", tls_failed=True, silent=False) == "tls"
    assert error_kind("Client disconnected.", "client", tls_failed=False, silent=True) == "timeout"


def test_an_answer_that_had_begun_ends_by_the_side_that_left() -> None:
    assert [ended("client", silent=False), ended("client", silent=True), ended("server", silent=False)] == [
        "client_gone",
        "timeout",
        "reset",
    ]
