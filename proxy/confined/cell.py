"""A process of its own that runs a recorded agent with no way out but named ports, and tells what tried others.

The recorder has threads and a network, so it cannot be confined: it starts this instead of the agent. What is meant for
loopback stays in the cell, where the agent's own servers are.
"""

import asyncio
import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proxy.agent.freezing import remove_shared
from proxy.agent.process import AgentNotStarted, running_agent
from proxy.confined.confinement import Confinement, ConfinementError, Unconfined, enter
from store.ownership import MARKER_VARIABLE, listening_ports

FAILED = 125
LOOK_S = 0.1
LOOPBACK = "localhost,127.0.0.1,::1"

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1));from proxy.confined.cell import main; sys.exit(main(sys.argv[1:]))"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What happened in a cell: `attempts` to get past the recorder, first seen first, and ports on which servers of the
    agent's own listened.
    """

    attempts: tuple[str, ...] = ()
    servers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """The files by which recorder and cell speak, in a folder of the recorder's."""

    folder: Path

    def command(self, ports: Sequence[int], argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        """What to start in place of `argv`, in our own environment: the agent's goes by a file, and holds a token."""
        told = {**environment, "NO_PROXY": LOOPBACK, "no_proxy": LOOPBACK}
        self._environment.touch(0o600)
        self._environment.write_text(json.dumps(told), "utf-8")
        packages = str(Path(__file__).resolve().parents[2])
        named = ",".join(map(str, dict.fromkeys(ports)))
        return [sys.executable, "-I", "-c", _BOOT, packages, str(self.folder), named, *argv]

    def seen(self) -> Seen:
        """What the cell has told."""
        try:
            told = json.loads(self._report.read_text("utf-8"))
        except (OSError, ValueError):
            return Seen()
        attempts = (
            f"{attempt} ({count} times)" if count > 1 else attempt for attempt, count in told["attempts"].items()
        )
        return Seen(tuple(attempts), tuple(told["servers"]))

    def taken(self) -> dict[str, str]:
        """The agent's environment, which nobody can read here afterwards. Raises OSError."""
        told = json.loads(self._environment.read_text("utf-8"))
        self._environment.unlink()
        marker = os.environ.get(MARKER_VARIABLE)
        return {**told, MARKER_VARIABLE: marker} if marker else told

    def tell(self, confinement: Confinement, servers: Collection[int]) -> None:
        """Writes down what was seen; `servers` are ports of the agent's own."""
        attempts = {str(attempt): count for attempt, count in confinement.counts().items()}
        self._report.write_text(json.dumps({"attempts": attempts, "servers": sorted(servers)}), "utf-8")

    @property
    def _environment(self) -> Path:
        return self.folder / "environment"

    @property
    def _report(self) -> Path:
        return self.folder / "attempts"


def main(words: Sequence[str]) -> int:
    """Runs `FOLDER PORT[,PORT...] COMMAND...`; gives the agent's exit code."""
    cell, ports, argv = Cell(Path(words[0])), [int(port) for port in words[1].split(",")], words[2:]
    try:
        confinement = enter(ports)
        if isinstance(confinement, Unconfined):
            return _failed(f"the agent cannot be confined: {confinement.reason}")
        return asyncio.run(_run(cell, confinement, argv, set(ports)))
    except AgentNotStarted as error:
        _failed(str(error))
        return error.exit_code
    except (ConfinementError, OSError) as error:
        return _failed(str(error))


async def _run(cell: Cell, confinement: Confinement, argv: Sequence[str], bridged: set[int]) -> int:
    loop, servers = asyncio.get_running_loop(), set[int]()
    loop.add_reader(confinement.fileno(), confinement.attempts)  # so that the kernel never has to drop one
    looking = asyncio.create_task(_look(servers))
    try:
        with running_agent(argv, cell.taken()) as agent:
            code = (await agent.wait()).code
        remove_shared(agent.pid)
        return code
    finally:
        looking.cancel()
        loop.remove_reader(confinement.fileno())
        cell.tell(confinement, servers - bridged)
        confinement.close()


async def _look(servers: set[int]) -> None:
    """Gathers the ports on which anybody listens in here: what is said to them, the recorder does not hear."""
    while True:
        servers |= listening_ports()
        await asyncio.sleep(LOOK_S)


def _failed(sentence: str) -> int:
    sys.stderr.write(f"edgetape: {sentence}\n")
    return FAILED
