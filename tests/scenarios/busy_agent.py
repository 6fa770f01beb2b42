"""An agent that asks without a pause in four ways, and logs every answer whose end it has seen.

    python busy_agent.py LOG URL H2_URL

Each line of the log is `KIND PLACE BYTES DIGEST MONOTONIC_S`; kind `part` is the slow stream, of which it logs what
has come so far. It ends when the way out is gone.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import ssl
import sys
import threading
import time
from collections.abc import Callable
from urllib.parse import quote, unquote, urlsplit

import httpx

LASTS_S_MAX = 60.0


class Log:
    """Lines of one file, each written at once."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, kind: str, place: str, body: bytes) -> None:
        digest = hashlib.sha256(body).hexdigest()
        os.write(self._file, f"{kind} {place} {len(body)} {digest} {time.monotonic():.6f}\n".encode())


def connection(url: str) -> http.client.HTTPSConnection:
    """A connection to the host of `url` through the proxy that the environment names."""
    proxy, there = urlsplit(os.environ["HTTPS_PROXY"]), urlsplit(url)
    said = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}"
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    made = http.client.HTTPSConnection(str(proxy.hostname), proxy.port, context=context, timeout=30)
    headers = {"Proxy-Authorization": "Basic " + base64.b64encode(said.encode()).decode()}
    made.set_tunnel(str(there.hostname), there.port, headers)
    return made


def ask(log: Log, url: str, kind: str, fault: str) -> None:
    """The same question again and again over one connection; POST with a body where there is no fault."""
    there, number = connection(url), 0
    while True:
        number += 1
        place = f"/{kind}/{number}" + (f"?fault={quote(fault, safe='')}" if fault else "")
        there.request("GET" if fault else "POST", place, None if fault else b"%d " % number * 500)
        log.write(kind, place, there.getresponse().read())


def ask_h2(log: Log, url: str) -> None:
    """Small and streamed answers over HTTP/2."""
    with httpx.Client(http2=True, timeout=30) as client:
        number = 0
        while True:
            number += 1
            place = f"/h2/{number}" if number % 2 else f"/stream?n=4&ms=3&number={number}"
            answer = client.get(url + place)
            assert answer.http_version == "HTTP/2"
            log.write("h2", place, answer.content)


def follow(log: Log, url: str) -> None:
    """One slow stream, of which every piece is logged."""
    there, place, come = connection(url), "/slow?fault=" + quote("slow-sse?n=3000&ms=20", safe=""), b""
    there.request("GET", place)
    answer = there.getresponse()
    while piece := answer.read1():
        come += piece
        log.write("part", place, come)


def quietly(work: Callable[[], None]) -> None:
    """Until the way is gone."""
    try:
        work()
    except (OSError, http.client.HTTPException, httpx.TransportError):
        return


def main(path: str, url: str, h2_url: str) -> None:
    """Ask in all ways at once."""
    log = Log(path)
    works: list[Callable[[], None]] = [
        lambda: ask(log, url, "length", ""),
        lambda: ask(log, url, "chunked", "chunks/40,700?ms=1"),
        lambda: ask(log, url, "sse", "slow-sse?n=5&ms=3"),
        lambda: ask_h2(log, h2_url),
        lambda: follow(log, url),
    ]
    threads = [threading.Thread(target=quietly, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    until = time.monotonic() + LASTS_S_MAX
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


if __name__ == "__main__":
    main(*sys.argv[1:])
