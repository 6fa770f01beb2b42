"""Recorders side by side: each a process that waits until it is its turn, all before one upstream.

Every process is ended by the id that it was started with, and every load has an end.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import trustme

from bench.client import Figures, Order

ROOT = Path(__file__).parents[1]
START_S_MAX = 60.0
END_S_MAX = 20.0
_OVER_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Contestant:
    """A running proxy: where it listens, what its clients trust, and its process (None: there is no proxy)."""

    name: str
    proxy: tuple[str, int] | None
    trusted: str
    process: subprocess.Popen[str] | None = None

    @property
    def cpu_s(self) -> float:
        """The processor time of the process, and of those that it has started, until now."""
        if self.process is None:
            return 0.0
        return sum(_ticks(each) for each in _family(self.process.pid)) / _TICKS

    @property
    def resident_mb(self) -> float:
        """The memory that they have now."""
        assert self.process is not None
        return sum(_resident_mb(each) for each in _family(self.process.pid))


@dataclass(frozen=True, slots=True)
class Turn:
    """What one load of one contestant gave."""

    figures: Figures
    cpu_s: float

    @property
    def rate(self) -> float:
        """Exchanges a second."""
        return self.figures.exchanges / self.figures.seconds

    @property
    def cpu_ms(self) -> float:
        """Processor time of the proxy for one exchange, in milliseconds."""
        return self.cpu_s * 1000 / max(1, self.figures.exchanges)


class Ring:
    """The place where they meet: a folder, an upstream, and all that was started."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        authority = trustme.CA()
        self.roots = folder / "upstream-ca.pem"
        authority.cert_pem.write_to_path(str(self.roots))
        certificate = folder / "upstream.pem"
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(certificate))
        process = self._start([sys.executable, "-m", "bench.upstream", str(certificate)])
        assert process.stdout is not None
        self.target = ("127.0.0.1", int(process.stdout.readline()))

    def direct(self) -> Contestant:
        """No proxy at all."""
        return Contestant("no proxy", None, str(self.roots))

    def mitmdump(self, name: str, *options: str) -> Contestant:
        """The command of mitmproxy itself."""
        port, confdir = _free_port(), self.folder / name.replace(" ", "-")
        command = [
            *(str(Path(sys.executable).parent / "mitmdump"), "-q", "--listen-host", "127.0.0.1", "-p", str(port)),
            *("--set", f"confdir={confdir}", "--set", f"ssl_verify_upstream_trusted_ca={self.roots}", *options),
        ]
        process = self._start(command)
        _await_port(port, process)
        return Contestant(name, ("127.0.0.1", port), str(confdir / "mitmproxy-ca-cert.pem"), process)

    def edgetape(self, name: str, *options: str, settings: Mapping[str, str] | None = None) -> Contestant:
        """Our own command, with a store of its own."""
        home = self.folder / name.replace(" ", "-")
        environment = {key: value for key, value in os.environ.items() if not key.upper().endswith("_PROXY")}
        environment["PYTHONDONTWRITEBYTECODE"] = ""  # as users have it
        environment |= {f"EDGETAPE_{part.upper()}": str(home / part) for part in ("store", "keys", "authority")}
        command = [
            *(str(Path(sys.executable).parent / "edgetape"), "proxy", "--port", "0", "--json"),
            *("--upstream-ca", str(self.roots), *options),
        ]
        process = self._start(command, environment | dict(settings or {}))
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        return Contestant(name, (said["host"], said["port"]), str(home / "authority" / "edgetape-ca.pem"), process)

    def _start(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        log: IO[str] = self._stack.enter_context((self.folder / "log.txt").open("a"))
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env=environment
        )
        self._stack.callback(_end, process)
        return process


def _family(process: int) -> list[int]:
    """A process, and those that it has started."""
    return [process, *map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]


def _ticks(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _resident_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


@contextmanager
def ring() -> Iterator[Ring]:
    """A place to meet in; nothing is left of it afterwards."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        yield Ring(Path(folder), stack)


@contextmanager
def loading(order: Order) -> Iterator["subprocess.Popen[str]"]:
    """A client that has begun to work, and is ended if it has not ended by itself."""
    command = [sys.executable, "-m", "bench.client", json.dumps(asdict(order))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        _end(process)


def turn(contestant: Contestant, order: Order) -> Turn:
    """One load of one contestant."""
    with loading(order) as process:
        before = contestant.cpu_s
        out, _ = process.communicate(timeout=order.seconds + _OVER_S)
    return Turn(Figures(**json.loads(out)), contestant.cpu_s - before)


def _end(process: "subprocess.Popen[str]") -> None:
    if process.stdin is not None:
        process.stdin.close()
    process.terminate()
    try:
        process.wait(END_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _await_port(port: int, process: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + START_S_MAX
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"nothing listens on port {port}")
