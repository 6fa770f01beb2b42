"""Other programs that answer from a recording, each installed into a cache folder by its ordinary client, and started.

What cannot be had is named, and the others are measured without it.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from bench.asker import HOST, PATH

CACHE = Path(platformdirs.user_cache_dir("edgetape")) / "bench"
_START_S_MAX = 60.0
_INSTALL_S_MAX = 600

type Pairs = Sequence[tuple[str, str]]
"""Requests and answers, both JSON."""


class Missing(Exception):  # it is no error: the table says so
    """A program that cannot be had here."""


@dataclass(frozen=True, slots=True)
class Rival:
    """`way` is how it is spoken to; `command` writes what it needs into a folder, and is what starts it on a port."""

    name: str
    way: str
    command: Callable[[Pairs, Path, int], list[str]]


@contextmanager
def serving(rival: Rival, pairs: Pairs, folder: Path) -> Iterator[tuple[int, int]]:
    """Its port and its process. Raises Missing."""
    port = _free_port()
    command = rival.command(pairs, folder, port)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, start_new_session=True)
        try:
            _await(port, process)
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(10)


def npm(package: str, program: str) -> list[str]:
    """The command of an npm package. Raises Missing."""
    node, client = shutil.which("node"), shutil.which("npm")
    if node is None or client is None:
        raise Missing("there is no node here")
    folder = CACHE / package.replace("/", "-").lstrip("@")
    script = folder / "node_modules" / ".bin" / program
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _install([client, "install", "--no-audit", "--no-fund", "--prefix", str(folder), package])
    return [node, str(script)]


def pip(package: str) -> Path:
    """A folder with a Python package and what it needs. Raises Missing."""
    folder = CACHE / package
    if not folder.exists():
        fresh = folder.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        uv = Path(sys.executable).with_name("uv")
        _install([str(uv), "pip", "install", "--quiet", "--python", sys.executable, "--target", str(fresh), package])
        fresh.rename(folder)
    return folder


def _install(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_INSTALL_S_MAX)
    except (OSError, subprocess.SubprocessError) as error:
        raise Missing(f"{command[-1]} cannot be installed") from error


def _mitmdump(pairs: Pairs, folder: Path, port: int) -> list[str]:
    path = folder / "flows"
    with path.open("wb") as file:
        writer = FlowWriter(file)  # type: ignore[no-untyped-call]
        for asked, answered in pairs:
            headers = [(b"Host", HOST.encode()), (b"Content-Type", b"application/json"), (b"Accept", b"*/*")]
            request = http.Request.make("POST", f"https://{HOST}{PATH}", asked.encode(), headers)
            response = http.Response.make(200, answered.encode(), [(b"Content-Type", b"application/json")])
            writer.add(tflow.tflow(req=request, resp=response))
    options = ["server_replay_extra=kill", "connection_strategy=lazy", f"confdir={CACHE / 'mitmproxy'}"]
    told = [word for option in options for word in ("--set", option)]
    program = str(Path(sys.executable).with_name("mitmdump"))
    return [program, "-q", "--listen-host", "127.0.0.1", "-p", str(port), "--server-replay", str(path), *told]


def _mountebank(pairs: Pairs, folder: Path, port: int) -> list[str]:
    stubs = [
        {
            "predicates": [{"deepEquals": {"method": "POST", "path": PATH, "body": asked}}],
            "responses": [{"is": {"statusCode": 200, "headers": _json(answered), "body": answered}}],
        }
        for asked, answered in pairs
    ]
    path = folder / "imposters.json"
    path.write_text(json.dumps({"imposters": [{"port": port, "protocol": "https", "stubs": stubs}]}))
    control = ["--port", str(_free_port()), "--nologfile", "--loglevel", "warn", "--pidfile", str(folder / "pid")]
    return [*npm("mountebank", "mb"), "--configfile", str(path), *control]


def _json(body: str) -> dict[str, str]:
    kept = {"Connection": "keep-alive"}  # unasked it closes each
    return {"Content-Type": "application/json", "Content-Length": str(len(body)), **kept}


def _aimock(pairs: Pairs, folder: Path, port: int) -> list[str]:
    fixtures = [
        {
            "match": {"userMessage": json.loads(asked)["messages"][0]["content"]},
            "response": {"content": json.loads(answered)["choices"][0]["message"]["content"]},
        }
        for asked, answered in pairs
    ]
    (folder / "fixtures").mkdir()
    (folder / "fixtures" / "all.json").write_text(json.dumps({"fixtures": fixtures}))
    (folder / "aimock.json").write_text(json.dumps({"llm": {"fixtures": str(folder / "fixtures")}}))
    return [*npm("@copilotkit/aimock", "aimock"), "--config", str(folder / "aimock.json"), "--port", str(port)]


RIVALS = (
    Rival("mitmdump --server-replay", "connect", _mitmdump),
    Rival("mountebank", "tls", _mountebank),
    Rival("aimock, plain HTTP", "plain", _aimock),
)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _await(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _START_S_MAX
    while time.monotonic() < until:
        if process.poll() is not None:
            raise Missing(f"it ended with {process.returncode}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise Missing("it does not listen")


def offline() -> dict[str, str]:
    """The environment without proxies, in which Python keeps compiled modules: pip makes them when it installs."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept
