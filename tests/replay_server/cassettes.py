"""Real recorded exchanges as the cassettes that they were taken from, written as vcrpy writes them.

The recordings lie outside this repository: EDGETAPE_TEST_DATA names the folder with http_cassettes.jsonl.zst.
"""

import base64
import io
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
import zstandard

CASSETTES = Path(os.environ.get("EDGETAPE_TEST_DATA", "")) / "http_cassettes.jsonl.zst"


@dataclass(frozen=True)
class Taken:
    """One exchange as it was recorded."""

    method: str
    url: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    status: int
    answer_headers: tuple[tuple[bytes, bytes], ...]
    answer: bytes

    @classmethod
    def of(cls, line: dict[str, Any]) -> "Taken":
        """A line of the recordings."""
        return cls(
            line["method"],
            line["url"],
            _pairs(line["request_headers"]),
            base64.b64decode(line["request_body_b64"] or ""),
            line["status"],
            _pairs(line["response_headers"]),
            base64.b64decode(line["response_body_b64"] or ""),
        )

    def interaction(self) -> dict[str, Any]:
        """What vcrpy makes of it."""
        return {
            "request": {
                "body": _told(self.body) or None,
                "headers": _listed(self.headers),
                "method": self.method,
                "uri": self.url,
            },
            "response": {
                "body": {"string": _told(self.answer)},
                "headers": _listed(self.answer_headers),
                "status": {"code": self.status, "message": "OK"},
            },
        }


def cassettes() -> Iterator[tuple[str, list[Taken]]]:
    """Every cassette: its source and its exchanges, in order."""
    with CASSETTES.open("rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        lines = map(json.loads, io.TextIOWrapper(reader, "utf-8"))
        for source, group in groupby(lines, key=lambda line: str(line["source"])):
            yield source, [Taken.of(line) for line in group]


def as_yaml(exchanges: Iterable[Taken]) -> bytes:
    """A cassette file."""
    document = {"interactions": [exchange.interaction() for exchange in exchanges], "version": 1}
    written: str = yaml.dump(document, Dumper=yaml.CSafeDumper)
    return written.encode()


def _pairs(said: list[list[str]]) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((name.encode(), value.encode("utf-8", "replace")) for name, value in said)


def _listed(pairs: tuple[tuple[bytes, bytes], ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return found


def _told(body: bytes) -> str | bytes:
    """A text where it is one, else bytes: as vcrpy does it."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body
