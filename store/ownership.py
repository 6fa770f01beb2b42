"""Which processes belong to an agent, and whether one of them holds a listener or a connection on this machine.

An agent's tree is its process, every descendant, and every process that still carries the agent's marker in
its environment, which is how one is known whose parent has ended. Read from /proc; where there is none, the
tree is empty and no listener is known to be the agent's.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from store import diagnosis

MARKER_VARIABLE = "EDGETAPE_AGENT"

_PROC = Path("/proc")
_STARTED_AT = 19  # starttime among what stands behind the name (proc_pid_stat(5), field 22)
_LISTEN = "0A"  # TCP_LISTEN of the kernel's tcp_states.h
_LOOPBACK_OR_ANY = (
    "00000000",  # 0.0.0.0
    "00000000000000000000000000000000",  # ::
    "00000000000000000000000001000000",  # ::1, each 32-bit word in host order
    "0000000000000000FFFF00000100007F",  # ::ffff:127.0.0.1
)


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """The processes of one agent: `root` is its pid, `marker` the value of its EDGETAPE_AGENT variable.

    Whoever held a connection once is asked first the next time; `_holders` are their pids with when they started.
    """

    root: int
    marker: str
    _holders: dict[int, bytes] = field(default_factory=dict, compare=False, repr=False)

    def members(self) -> frozenset[int]:
        """The pids of the tree at this moment; zombies are no members."""
        parents = dict(_parents())
        children: defaultdict[int, list[int]] = defaultdict(list)
        for pid, parent in parents.items():
            children[parent].append(pid)
        members: set[int] = set()
        found = [pid for pid in parents if pid == self.root or self._carries_marker(pid)]
        while found:
            pid = found.pop()
            if pid not in members:
                members.add(pid)
                found += children[pid]
        return frozenset(members)

    def holds(self, inodes: set[str]) -> bool:
        """Whether a process of the tree has one of these sockets open."""
        if any(_started(pid) == began and _holds_socket(pid, inodes) for pid, began in tuple(self._holders.items())):
            return True
        holder = next((pid for pid in self.members() if _holds_socket(pid, inodes)), None)
        if holder is not None:
            self._holders[holder] = _started(holder)
        return holder is not None

    def _carries_marker(self, pid: int) -> bool:
        """Whether the process was started with our marker, alone or nested inside another recording's."""
        try:
            environment = (_PROC / str(pid) / "environ").read_bytes()
        except OSError:
            return False  # gone, or another user's
        prefix = f"{MARKER_VARIABLE}=".encode()
        values = [entry for entry in environment.split(b"\0") if entry.startswith(prefix)]
        return any(self.marker.encode() in value.removeprefix(prefix).split(b":") for value in values)


def owns_listener(tree: ProcessTree, port: int) -> bool:
    """Whether a process of the tree listens on TCP `port` of a loopback address or of every address.

    Reads files of /proc for some milliseconds: call it in a thread, once a connection.
    """
    inodes = set(_listening_inodes(port))
    return bool(inodes) and tree.holds(inodes)


def owns_connection(tree: ProcessTree, port: int, to_port: int) -> bool:
    """Whether a process of the tree holds the end of a TCP connection that has the local `port` and goes to `to_port`.

    As `owns_listener`, for a thread.
    """
    inodes = diagnosis.inodes(port, to_port) or set(_connected_inodes(port, to_port))
    return bool(inodes) and tree.holds(inodes)


def listening_ports() -> set[int]:
    """The TCP ports of this network on which anybody listens."""
    return {int(fields[1].rpartition(":")[2], 16) for fields in _sockets() if fields[3] == _LISTEN}


def _parents() -> Iterator[tuple[int, int]]:
    """Each living process with its parent's pid."""
    for entry in _entries(_PROC):
        if not entry.isdecimal():
            continue
        state, parent = (_stat(int(entry)) or [b"X", b""])[:2]
        if state not in {b"Z", b"X"}:
            yield int(entry), int(parent)


def _stat(pid: int) -> list[bytes]:
    """What stands behind the name of a process in its stat, from the state on; nothing of one that has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as told:  # noqa: PTH123  # a third of what a Path takes
            # The command name stands in parentheses and may itself hold any of them (proc_pid_stat(5)).
            return told.read().rpartition(b")")[2].split()
    except OSError:
        return []  # ended since it was listed


def _started(pid: int) -> bytes:
    """When a process started, in ticks since the machine did: tells it from a later one of the same pid."""
    return next(iter(_stat(pid)[_STARTED_AT:]), b"")


def _listening_inodes(port: int) -> Iterator[str]:
    """The socket inodes of listeners on `port` that a loopback connection reaches."""
    for fields in _sockets():
        address, _, local_port = fields[1].partition(":")
        if fields[3] == _LISTEN and int(local_port, 16) == port and _is_reachable(address):
            yield fields[9]


def _connected_inodes(port: int, to_port: int) -> Iterator[str]:
    """The socket inodes of what goes from `port` to `to_port`."""
    for fields in _sockets():
        ends = [int(end.rpartition(":")[2], 16) for end in fields[1:3]]
        if fields[3] != _LISTEN and ends == [port, to_port]:
            yield fields[9]


def _sockets() -> Iterator[list[str]]:
    """Every TCP socket of this network: the fields of its row (proc_pid_net(5), tcp)."""
    for table in ("tcp", "tcp6"):
        try:
            rows = (_PROC / "self/net" / table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        yield from (row.split() for row in rows)


def _is_reachable(address: str) -> bool:
    """Loopback or any; the last byte of a 127.x.y.z address comes last because words are in host order."""
    return address in _LOOPBACK_OR_ANY or (len(address) == 8 and address.endswith("7F"))


def _holds_socket(pid: int, inodes: set[str]) -> bool:
    folder = _PROC / str(pid) / "fd"
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for descriptor in _entries(folder):
        try:
            if os.readlink(f"{folder}/{descriptor}") in wanted:  # noqa: PTH115  # a third of what a Path takes
                return True
        except OSError:
            continue  # closed since it was listed
    return False


def _entries(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  # twice as fast as iterdir, and read for every process
    except OSError:
        return []
