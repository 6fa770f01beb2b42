"""A small intercepting proxy for tests: takes CONNECT and absolute requests, and answers `ok` to everything."""

import contextlib
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from store.authority import Authority
from store.certificate import LeafTerms

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nok"

_TLS_HANDSHAKE = b"\x16"  # RFC 8446, section 5.1


class Intercept:
    """What the proxy saw: `heads` are the first lines of requests, those inside TLS with the host in front."""

    def __init__(self, authority: Authority, listener: socket.socket) -> None:
        self.heads: list[str] = []
        self.url = f"http://run-7:token@127.0.0.1:{listener.getsockname()[1]}"
        self._authority = authority
        self._listener = listener

    def serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):  # a client that distrusts us just goes away
            line = _head(client)
            if not line.startswith("CONNECT "):
                self.heads.append(line)
                client.sendall(_ANSWER)
                return
            target = line.split()[1]
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            if client.recv(1, socket.MSG_PEEK) != _TLS_HANDSHAKE:
                self.heads.append(f"{target} {_head(client)}")
                client.sendall(_ANSWER)
                return
            with self._context(target.rpartition(":")[0]).wrap_socket(client, server_side=True) as inside:
                self.heads.append(f"{target} {_head(inside)}")
                inside.sendall(_ANSWER)

    def _context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        leaf = self._authority.mint(host, LeafTerms.around(now, now), key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pem = leaf.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with tempfile.NamedTemporaryFile() as file:
            file.write(pem)
            file.flush()
            context.load_cert_chain(Path(file.name))
        return context


def _head(connection: socket.socket) -> str:
    """The first line of a request whose whole head has been read."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(4096)
        if not piece:
            raise OSError("the client went away")
        received += piece
    return received.split(b"\r\n", 1)[0].decode("latin-1")


@contextmanager
def intercepting(authority: Authority) -> Iterator[Intercept]:
    """Runs the proxy on a loopback port while the block lasts."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Intercept(authority, listener)
        thread = threading.Thread(target=proxy.serve, daemon=True)
        thread.start()
        yield proxy
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(20)
