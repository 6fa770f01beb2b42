"""A git server over HTTPS for tests: git's own `git http-backend` behind a small server, on a thread.

`with git_serving(folder, tls) as server:` serves the repositories in `folder`; `server.heads` are the request lines
and headers that came.
"""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


class GitServer(ThreadingHTTPServer):
    """Serves the repositories of one folder."""

    daemon_threads = True

    def __init__(self, folder: Path, tls: tuple[Path, Path]) -> None:
        super().__init__(("127.0.0.1", 0), _Backend)
        self.folder = folder
        self.heads: list[tuple[str, str]] = []
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*tls)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.server_address[1]}"


class _Backend(BaseHTTPRequestHandler):
    """One request as a CGI call (RFC 3875)."""

    protocol_version = "HTTP/1.1"
    server: GitServer

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self._call(b"")

    def do_POST(self) -> None:
        self._call(self.rfile.read(int(self.headers["Content-Length"])))

    def _call(self, body: bytes) -> None:
        self.server.heads.append((self.requestline, str(self.headers)))
        place = urlsplit(self.path)
        variables = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": place.path,
            "QUERY_STRING": place.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        said = subprocess.run(
            ["git", "http-backend"], env=variables, input=body, stdout=subprocess.PIPE, check=True
        ).stdout
        head, _, content = said.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def git_serving(folder: Path, tls: tuple[Path, Path]) -> Iterator[GitServer]:
    """Serves while a `with` block lasts."""
    server = GitServer(folder, tls)
    thread = threading.Thread(target=server.serve_forever, name="git-server", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
