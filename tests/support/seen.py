"""What the scripted provider saw, as it gives it at /_seen, and the reading side of that for tests."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.support.dialogue import Json
from tests.support.wire import Request


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that reached the provider: its number from 1, and the request as it stood on the wire."""

    number: int
    request: Request


def seen_entry(number: int, request: Request) -> dict[str, Json]:
    """The JSON form of one request."""
    return {
        "n": number,
        "line": request.line.decode("latin-1"),
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in request.headers],
        "head_b64": base64.b64encode(request.head).decode(),
        "body_b64": base64.b64encode(request.body).decode(),
        "chunk_lengths": list(request.chunk_lengths),
        "trailers": request.trailers.decode("latin-1"),
        "tls": request.tls,
    }


def ask_seen(url: str, root: Path | None = None) -> tuple[Seen, ...]:
    """Ask the provider at `url` what it saw, past any proxy variables; `root` is the PEM file to trust."""
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if root is not None:
        handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(root))))
    with urllib.request.build_opener(*handlers).open(url + "/_seen", timeout=30) as answer:
        entries = json.load(answer)
    return tuple(Seen(int(entry["n"]), _request(entry)) for entry in entries)


def forget_seen(url: str) -> None:
    """Lets the provider at `url` forget what it saw."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    direct.open(urllib.request.Request(f"{url}/_seen", method="DELETE"), timeout=30).close()


def _request(entry: dict[str, Json]) -> Request:
    lengths = entry["chunk_lengths"]
    assert isinstance(lengths, list)
    return Request(
        head=base64.b64decode(str(entry["head_b64"])),
        body=base64.b64decode(str(entry["body_b64"])),
        chunk_lengths=tuple(int(str(length)) for length in lengths),
        trailers=str(entry["trailers"]).encode("latin-1"),
        tls=bool(entry["tls"]),
    )
