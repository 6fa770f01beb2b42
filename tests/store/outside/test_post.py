"""One request to somebody outside, who may answer with anything, slowly, or not at all."""

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from store.outside.post import Unreachable, Way, host_of, post
from tests.support.authority import ServerCertificate
from tests.support.provider import Options, serving

QUICK = Way(deadline_s=0.4)

type Talk = Callable[[socket.socket], None]


@contextmanager
def speaking(talk: Talk) -> Iterator[str]:
    """A server that reads a request and then does what it likes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                talk(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/path?q=1"
        thread.join(10)


def drip(connection: socket.socket) -> None:
    """A byte now and then, for ever: no timeout of the socket ever passes."""
    try:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not select.select([connection], [], [], 0.02)[0] or connection.recv(65_536):
            connection.sendall(b"x")
    except OSError:
        return


def silence(connection: socket.socket) -> None:
    """Listens until the other side gives up."""
    while connection.recv(65_536):
        pass


def raw(content: bytes) -> Talk:
    return lambda connection: connection.sendall(content)


HOSTILE = {
    "drip": (drip, "did not answer within 0.4 s"),
    "silence": (silence, "did not answer within 0.4 s"),
    "garbage": (raw(b"\x00\xff junk\r\n\r\n"), "does not speak HTTP"),
    "nothing": (raw(b""), "cannot be reached|does not speak HTTP"),
    "too much": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000), "more than 1000 bytes"),
    "endless": (raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 200_000), "more than 1000 bytes"),
    "redirect": (raw(b"HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"), "elsewhere"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_server_does_is_one_sentence(name: str) -> None:
    talk, sentence = HOSTILE[name]
    with speaking(talk) as url, pytest.raises(Unreachable, match=sentence) as failed:
        post(url, b"hello", "text/plain", 1000, QUICK)
    assert "\n" not in str(failed.value)


def test_an_answer_comes_with_its_status_and_kind() -> None:
    with serving() as provider:
        answer = post(f"{provider.url}/a?b=c", b"hello", "text/x-test", 100_000, Way())
        (asked,) = provider.seen()
    assert (answer.status, answer.kind) == (200, "application/json")
    assert (asked.method, asked.target, asked.body) == ("POST", "/a?b=c", b"hello")


def test_a_user_and_a_password_are_sent_and_never_said() -> None:
    with serving() as provider:
        post(provider.url.replace("http://", "http://me:p%40ss@"), b"", "text/plain", 100_000, Way())
        (asked,) = provider.seen()
    assert (b"Authorization", b"Basic bWU6cEBzcw==") in [(name, value) for name, value in asked.headers]
    assert host_of("https://me:secret@tsa.example:444/x") == "tsa.example:444"
    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:1 cannot") as failed:
        post("http://me:secret@127.0.0.1:1/", b"", "text/plain", 1, QUICK)
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    "url", ["", "tsa.example", "ftp://x/", "http://", "http://x:port/", "https://[", "file:///etc"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(Unreachable, match="not an address"):
        post(url, b"", "text/plain", 1, QUICK)


@pytest.mark.parametrize("path", ["a b", "\N{SNOWMAN}", "a\x00b"])
def test_characters_that_no_address_has_are_named(path: str) -> None:
    with pytest.raises(Unreachable, match="characters that no address has"):
        post(f"http://127.0.0.1:1/{path}", b"", "text/plain", 1, QUICK)


def test_a_certificate_that_nobody_trusts_is_refused(upstream_certificate: ServerCertificate) -> None:
    tls = (upstream_certificate.certificate, upstream_certificate.key)
    with serving(Options(tls=tls)) as provider, pytest.raises(Unreachable, match="is not trusted"):
        post(f"https://localhost:{provider.port}/", b"", "text/plain", 1, Way())


def test_a_request_goes_through_the_proxy_that_the_user_has() -> None:
    with serving() as proxy:
        way = Way(lambda scheme, host, port: f"http://me:pw@127.0.0.1:{proxy.port}")
        post("http://tsa.invalid/stamp", b"q", "text/plain", 100_000, way)
        (asked,) = proxy.seen()
    assert asked.target == "http://tsa.invalid/stamp"
    assert b"Proxy-Authorization" in [name for name, _ in asked.headers]
    with pytest.raises(Unreachable, match="makes no sense"):
        post("http://tsa.invalid/", b"", "text/plain", 1, Way(lambda scheme, host, port: "socks5://127.0.0.1:1"))
