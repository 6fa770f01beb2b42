"""An agent whose words are too large for most programs, spelled out by hand on a socket.

    python wide_agent.py URL TLS_URL ROOM...

It sends, plainly and inside TLS: a query of 100 KB, 80 KB of headers (one of them 60 KB long), and a path and a
header value that are no UTF-8; and prints the digest of every answer. ROOM is what fills its own command line.
"""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import ssl
import sys
from urllib.parse import unquote, urlsplit

MANY = b"".join(b"Accept-Language: %s-%d\r\n" % (b"r" * 950, number) for number in range(20))
WIDE = (
    (b"/query?q=" + b"q" * 100_000, b""),
    (b"/headers", MANY + b"User-Agent: " + b"w" * 60_000 + b"\r\n"),
    (b"/caf\xe9/\xff\xfe?name=\xe9", b"User-Agent: caf\xe9\r\n"),
)


def credentials() -> bytes:
    """The header that names the run to the proxy."""
    proxy = urlsplit(os.environ["HTTPS_PROXY"])
    said = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}"
    return b"Proxy-Authorization: Basic %s\r\n" % base64.b64encode(said.encode())


def connected() -> socket.socket:
    """A connection to the proxy."""
    proxy = urlsplit(os.environ["HTTPS_PROXY"])
    return socket.create_connection((str(proxy.hostname), int(proxy.port or 0)), 60)


def tunnel(url: str) -> socket.socket:
    """A TLS connection to the server through the proxy."""
    there, connection = urlsplit(url), connected()
    place = f"{there.hostname}:{there.port}".encode()
    connection.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (place, place, credentials()))
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += connection.recv(1)
    assert answer.startswith(b"HTTP/1.1 200"), answer
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    return context.wrap_socket(connection, server_hostname=there.hostname)


def whole(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    come = b""
    with connection:
        while piece := connection.recv(65_536):
            come += piece
    return come


def main(url: str, tls_url: str) -> None:
    """Ask for everything, both ways."""
    for path, headers in WIDE:
        for way in (url, tls_url):
            inside = way == tls_url
            connection = tunnel(way) if inside else connected()
            target = path if inside else url.encode() + path
            host = urlsplit(way).netloc.encode()
            own = b"" if inside else credentials()
            connection.sendall(
                b"GET %s HTTP/1.1\r\nHost: %s\r\n%s%sConnection: close\r\n\r\n" % (target, host, own, headers)
            )
            head, _, body = whole(connection).partition(b"\r\n\r\n")
            print(head.split(b"\r\n")[0].decode(), len(body), hashlib.sha256(body).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
    print(hashlib.sha256(b"\0".join(os.fsencode(word) for word in sys.argv[3:])).hexdigest())
