"""Runs the agent's command as a child that keeps its stdin, stdout, stderr, terminal, signals and exit code.

The child stays in our process group, so it keeps the terminal; it inherits every descriptor that we were given;
and waiting for it never blocks an event loop. The environment says which processes are its descendants.
"""

import asyncio
import concurrent.futures
import contextlib
import errno
import os
import secrets
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals

from proxy.agent.relay import SignalRelay
from proxy.agent.terminal import Terminal
from store.core.errors import EdgetapeError
from store.ownership import MARKER_VARIABLE, ProcessTree

EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_FOUND = 127
_POLL_SECONDS = 0.05
_SHEBANG_BYTES_MAX = 256  # as much as Linux reads (execve(2))
_KILL_ROUNDS_MAX = 20  # a tree that starts processes faster than we end them is left after these


class AgentNotStarted(EdgetapeError):
    """The agent's command cannot be run; `exit_code` is what a shell would answer: 126 or 127."""

    def __init__(self, message: str, *, hint: str, exit_code: int) -> None:
        super().__init__(message, hint=hint)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Ended:
    """How the agent ended: `code` as a shell has it (128 + n for signal n), `signal` when one ended it."""

    code: int
    signal: Signals | None = None


class Agent:
    """The running agent. Made by `running_agent`."""

    def __init__(self, process: subprocess.Popen[bytes], tree: ProcessTree, relay: SignalRelay) -> None:
        self.pid = process.pid
        self.tree = tree
        self._process = process
        self._relay = relay
        self._ended: concurrent.futures.Future[Ended] = concurrent.futures.Future()
        threading.Thread(target=self._await_end, name="edgetape-agent", daemon=True).start()

    async def wait(self) -> Ended:
        """Waits for the agent's own process to end; other work of the event loop goes on."""
        return await asyncio.shield(asyncio.wrap_future(self._ended))

    def ended(self) -> Ended | None:
        """How it ended, or None while it runs."""
        return self._ended.result() if self._ended.done() else None

    @property
    def received(self) -> tuple[Signals, ...]:
        """The signals that came for the agent so far, from the terminal's keys or from others."""
        return tuple(self._relay.received)

    def send(self, number: int) -> None:
        """Sends a signal to the agent's process; one that has ended gets none."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def terminate(self, grace_seconds: float) -> None:
        """Ends the agent's whole tree: TERM, then after `grace_seconds` KILL to what is left."""
        await asyncio.to_thread(self._signal_tree, SIGTERM)
        deadline = time.monotonic() + grace_seconds
        while time.monotonic() < deadline:
            if not await asyncio.to_thread(self._alive):
                return
            await asyncio.sleep(_POLL_SECONDS)
        for _ in range(_KILL_ROUNDS_MAX):
            if not await asyncio.to_thread(self._signal_tree, SIGKILL):
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _signal_tree(self, number: Signals) -> bool:
        """Signals every process of the tree; False when there was none."""
        alive = self._alive()
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return bool(alive)

    def _alive(self) -> frozenset[int]:
        """The tree, and the agent itself also where no /proc shows it."""
        return self.tree.members() | (frozenset() if self._ended.done() else {self.pid})

    def _await_end(self) -> None:
        status = self._process.wait()
        ended = Ended(status) if status >= 0 else Ended(128 - status, Signals(-status))
        self._ended.set_result(ended)


@contextlib.contextmanager
def running_agent(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> Iterator[Agent]:
    """Starts `command` and passes our signals on to it while the block lasts; enter it in the main thread.

    `environment` is the whole environment (see `proxy.agent.environment`), to which only the marker is added. An
    agent that still runs when the block is left gets TERM. Raises AgentNotStarted.
    """
    marker = secrets.token_hex(16)
    outer = environment.get(MARKER_VARIABLE)
    marked = {**environment, MARKER_VARIABLE: f"{outer}:{marker}" if outer else marker}
    terminal = Terminal()
    with SignalRelay(terminal) as relay:
        process = _start(command, marked, folder)
        agent = Agent(process, ProcessTree(process.pid, marker), relay)
        relay.connect(agent.send)
        try:
            yield agent
        finally:
            if agent.ended() is None:
                agent.send(SIGTERM)
            ended = agent.ended()
            terminal.restore(modes=ended is not None and ended.signal is not None)


def refuse_unstartable(command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None) -> None:
    """Raises AgentNotStarted for what cannot be executed in `folder`, as far as that can be seen: before anything is
    written, or a person asked.
    """
    if folder is not None:
        _refuse_missing(folder)
        environment = _seen_from(folder, environment)
    program, path = command[0], environment.get("PATH")
    found = str((folder or Path()) / program) if os.sep in program else shutil.which(program, path=path)
    found = found or shutil.which(program, mode=os.F_OK, path=path)
    error = _unstartable(Path(found)) if found else FileNotFoundError(errno.ENOENT, program)
    if error is not None:
        raise _not_started(program, environment, error)


def _seen_from(folder: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
    """The same with a PATH that means there what it means in `folder`."""
    path = environment.get("PATH")
    if path is None:
        return environment
    return {**environment, "PATH": os.pathsep.join(str(folder / place) for place in path.split(os.pathsep))}


def _refuse_missing(folder: Path) -> None:
    if not folder.is_dir():
        raise AgentNotStarted(
            f"the folder to run the agent in does not exist: {folder}",
            hint="make it, or run the agent from another folder",
            exit_code=EXIT_NOT_EXECUTABLE,
        )


def _unstartable(path: Path) -> OSError | None:
    """Why execve(2) would refuse a file: it is not there, may not be executed, or its interpreter is not there."""
    if not path.exists():
        return FileNotFoundError(errno.ENOENT, str(path))
    if not path.is_file() or not os.access(path, os.X_OK):
        return PermissionError(errno.EACCES, str(path))
    if os.access(path, os.R_OK):
        with path.open("rb") as file:
            first = file.readline(_SHEBANG_BYTES_MAX)
        interpreter = first[2:].split()[:1] if first.startswith(b"#!") else []
        if interpreter and not Path(os.fsdecode(interpreter[0])).exists():
            return FileNotFoundError(errno.ENOENT, str(path))
    return None


def _start(command: Sequence[str], environment: Mapping[str, str], folder: Path | None) -> subprocess.Popen[bytes]:
    """Starts the command, or says in words why it cannot be."""
    if not command:
        raise AgentNotStarted(
            "no command was given",
            hint="put it after --, as in: edgetape record -- python agent.py",
            exit_code=2,
        )
    if folder is not None:
        _refuse_missing(folder)
    try:
        return _spawn(command, environment, folder)
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            return _start_as_script(command, environment, folder)
        raise _not_started(command[0], environment, error) from error
    except ValueError as error:  # a zero byte in an argument or a variable
        raise AgentNotStarted(
            f"the agent's command cannot be run: {error}",
            hint="take the zero byte out of the argument or variable",
            exit_code=EXIT_NOT_EXECUTABLE,
        ) from error


def _spawn(command: Sequence[str], environment: Mapping[str, str], folder: Path | None) -> subprocess.Popen[bytes]:
    # Our own descriptors are not inheritable (PEP 446). Those that stay open are the caller's, such as
    # /dev/fd/63 of a shell's <(...), and the agent must find them.
    environment = {**environment, **_place(environment, folder)}
    return subprocess.Popen(list(command), env=environment, cwd=folder, close_fds=False)


def _place(environment: Mapping[str, str], folder: Path | None) -> dict[str, str]:
    """PWD for a folder that is not the one it names: some programs work where it says, and not where they are."""
    if folder is None:
        return {}
    told = Path(environment.get("PWD", ""))
    with contextlib.suppress(OSError):
        if told.is_absolute() and folder.samefile(told):
            return {}  # perhaps by a symbolic link, as when it was recorded
    return {"PWD": str(folder)}


def _start_as_script(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None
) -> subprocess.Popen[bytes]:
    """A file without a #! line is a shell script, as execvp(3) and every shell have it; a binary is not."""
    program = shutil.which(command[0], path=environment.get("PATH")) or command[0]
    path = Path(folder or ".", program)
    with path.open("rb") as file:
        is_text = b"\0" not in file.read(128)
    if not is_text:
        raise AgentNotStarted(
            f"the agent cannot be run: {program} is not a program for this machine",
            hint="install the build for this processor and system",
            exit_code=EXIT_NOT_EXECUTABLE,
        )
    return _spawn(["/bin/sh", program, *command[1:]], environment, folder)


def _not_started(program: str, environment: Mapping[str, str], error: OSError) -> AgentNotStarted:
    found = shutil.which(program, path=environment.get("PATH"))
    if isinstance(error, FileNotFoundError) and found is None:
        return AgentNotStarted(
            f"the agent cannot be run: {program} was not found",
            hint="check its spelling and PATH, or give the whole path",
            exit_code=EXIT_NOT_FOUND,
        )
    reasons = {
        errno.ENOENT: "the interpreter in its first line does not exist",
        errno.E2BIG: "its arguments and environment are larger than the system allows",
        errno.EACCES: "it may not be executed (no execute permission, or a folder)",
    }
    return AgentNotStarted(
        f"the agent cannot be run: {program}: {reasons.get(error.errno or 0, error.strerror)}",
        hint="check what `ls -l` says about it, and its first line",
        exit_code=EXIT_NOT_EXECUTABLE,
    )
