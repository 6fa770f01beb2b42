"""A small service that issues tokens and cookies, echoes what it gets, and writes keys out a few letters an event.

POST /oauth2/token      tokens that follow from the secret that was sent, and a session cookie
GET  /stream            the X-Api-Key of the request as text deltas, cut anywhere, in chunks of 7 bytes
GET  /packed            an access token in gzip
anything else           an echo of the request line, headers and body as JSON
"""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


def issued(kind: str, cause: str) -> str:
    """What the service issues for a cause: 40 hex digits."""
    return hashlib.sha256(f"{kind}\n{cause}".encode()).hexdigest()[:40]


class _Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # the base class names it so
        if self.path.startswith("/stream"):
            self._stream(self.headers["X-Api-Key"])
        elif self.path.startswith("/packed"):
            content = json.dumps({"access_token": issued("packed", self.headers["X-Api-Key"]), "n": 1})
            self._answer(gzip.compress(content.encode(), mtime=0), ("Content-Encoding", "gzip"))
        else:
            self._echo(b"")

    def do_POST(self) -> None:  # as above
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/oauth2/token":
            self._echo(body)
            return
        form = parse_qs(body.decode())
        cause = (form.get("client_secret") or form["refresh_token"])[0]
        tokens = {
            "access_token": issued("access", cause),
            "refresh_token": issued("refresh", cause),
            "token_type": "Bearer",
            "expires_in": 3600,
        }
        cookie = f"session={issued('cookie', cause)}; HttpOnly; Path=/"
        self._answer(json.dumps(tokens).encode(), ("Set-Cookie", cookie))

    def _echo(self, body: bytes) -> None:
        told = {"line": self.requestline, "headers": list(self.headers.items()), "body": body.decode("latin-1")}
        self._answer(json.dumps(told).encode())

    def _answer(self, content: bytes, *fields: tuple[str, str]) -> None:
        self.send_response(200)
        for name, value in (("Content-Type", "application/json"), *fields, ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, key: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        said = f"Your key is {key}, keep it."
        events = "".join(
            f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': said[at : at + 5]}}]})}\n\n"
            for at in range(0, len(said), 5)
        )
        raw = (events + "data: [DONE]\n\n").encode()
        for at in range(0, len(raw), 7):
            piece = raw[at : at + 7]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # as the base class has it
        """Says nothing."""


@contextmanager
def issuing() -> Iterator[str]:
    """Runs the service on a thread; gives its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
