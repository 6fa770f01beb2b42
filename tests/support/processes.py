"""Starts real processes for tests, waits until they say that they are ready, and ends them by pid."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READY_S_MAX = 120.0
END_S_MAX = 40.0


class NotReadyError(RuntimeError):
    """The process ended, or was silent for too long, before its JSON line came; `said` is its stderr's end."""

    def __init__(self, command: object, said: str) -> None:
        super().__init__(f"no ready line from {command!r}: {said or 'nothing on stderr'}")
        self.said = said


@dataclass(frozen=True, slots=True)
class Running:
    """A process that has said its JSON line; `ready` is what it said."""

    process: subprocess.Popen[bytes]
    ready: dict[str, object]
    errors: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def port(self) -> int:
        return int(str(self.ready["port"]))

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    def stderr(self) -> str:
        """What it has written to stderr so far."""
        return self.errors.read_text(errors="replace")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signal it, wait for its end (KILL after 40 s), and give its exit code."""
        return end_process(self.process, number)


def end_process(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> int:
    """End one process of ours by its pid: the signal, then KILL when it does not listen."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.wait(END_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait(END_S_MAX)


@contextmanager
def running(
    command: Sequence[str], env: Mapping[str, str] | None = None, ready_s_max: float = READY_S_MAX
) -> Iterator[Running]:
    """Run a command in the checkout that prints one JSON line when ready, while a `with` block lasts.

    Raises NotReadyError with the end of its stderr when no line comes. Its later stdout is not read: this is
    not for a command that goes on to print more than a pipe holds.
    """
    with tempfile.TemporaryDirectory(prefix="edgetape-test-") as folder:
        errors = Path(folder) / "stderr"
        with errors.open("wb") as sink:
            process = subprocess.Popen(
                list(command),
                cwd=ROOT,
                env=None if env is None else dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=sink,
            )
        try:
            yield Running(process, _ready_line(process, errors, ready_s_max), errors)
        finally:
            end_process(process)
            if process.stdout is not None:
                process.stdout.close()


def running_module(
    module: str, *arguments: str, env: Mapping[str, str] | None = None
) -> AbstractContextManager[Running]:
    """Run `python -m MODULE ARGUMENTS...` as `running` does."""
    return running([sys.executable, "-m", module, *arguments], env)


def _ready_line(process: subprocess.Popen[bytes], errors: Path, seconds_max: float) -> dict[str, object]:
    assert process.stdout is not None
    descriptor, line, until = process.stdout.fileno(), b"", time.monotonic() + seconds_max
    while not line.endswith(b"\n"):
        left = until - time.monotonic()
        readable, _, _ = select.select([descriptor], [], [], max(0.0, left))
        piece = os.read(descriptor, 1) if readable else b""
        if not piece:
            raise NotReadyError(process.args, errors.read_text(errors="replace")[-2000:].strip())
        line += piece
    ready = json.loads(line)
    if not isinstance(ready, dict):
        raise NotReadyError(process.args, f"the line is no JSON object: {line!r}")
    return ready
