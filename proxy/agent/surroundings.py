"""Which recording a program takes part in: by its own environment, or by that of a process that it descends from.

Programs that start tools often hand them few variables of their own; Linux still shows what the ancestors were given.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from proxy.agent.identity import RUN_VARIABLE

_ANCESTORS_MAX = 64


@dataclass(frozen=True, slots=True)
class Nearby:
    """A recorder, or replay server, that we are under: where it listens, and what its proxy user and password are."""

    host: str
    port: int
    user: str
    password: str


def nearby(environment: Mapping[str, str], processes: Path = Path("/proc")) -> Nearby | None:
    """The recording that a process with this environment belongs to, if it belongs to any."""
    for variables in (environment, *_ancestors(processes)):
        found = _proxy(variables) if RUN_VARIABLE in variables else None
        if found is not None:
            return found
    return None


def _proxy(variables: Mapping[str, str]) -> Nearby | None:
    try:
        parts = urlsplit(variables.get("HTTP_PROXY", ""))
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or not port:
        return None
    return Nearby(host, port, unquote(parts.username or ""), unquote(parts.password or ""))


def _ancestors(processes: Path) -> Iterator[dict[str, str]]:
    """The environments that our ancestors were started with, the nearest first, as far as we may read them."""
    process = os.getppid()
    for _ in range(_ANCESTORS_MAX):
        folder = processes / str(process)
        try:
            raw = (folder / "environ").read_bytes()
            fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            process = int(fields[1])
        except (OSError, ValueError, IndexError):
            return
        pairs = (os.fsdecode(entry).partition("=") for entry in raw.split(b"\0") if entry)
        yield {name: value for name, _, value in pairs}
        if process <= 1:
            return
