"""Confines this process and all that it starts to a network that leads nowhere, or says why it cannot.

`enter()` is called once, by `edgetape replay`, before anything else: before a thread starts, before the store is
opened, before an event loop runs. What it returns to is the confined process, without a single privilege; with
`allow_local` it is a child, and the process that called goes on outside as the bridge and never returns.
"""

import errno
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM
from typing import TYPE_CHECKING

from proxy.confined.packets import Attempt
from store.core.errors import EdgetapeError

if TYPE_CHECKING:
    from proxy.confined.watch import Watch

__all__ = ["Attempt", "Confinement", "ConfinementError", "Unconfined", "enter"]

_REFUSED_HINT = (
    "unprivileged user namespaces are off here: see the sysctls kernel.apparmor_restrict_unprivileged_userns, "
    "kernel.unprivileged_userns_clone and user.max_user_namespaces, or the seccomp profile of the container"
)

_REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EUSERS}


class ConfinementError(EdgetapeError):
    """Confinement was asked for in a way that cannot be carried out."""


@dataclass(frozen=True, slots=True)
class Unconfined:
    """The agent keeps the network it has: `reason` in words, and what would change it."""

    reason: str
    hint: str = ""


class Confinement:
    """We are inside. Register `fileno()` with the event loop, or poll: the first attempt decides the verdict.

    `ferry` is our end of the way by which a live mode gets connections from outside; else None.
    """

    def __init__(self, watch: "Watch", ferry: socket.socket | None = None) -> None:
        self._watch = watch
        self.ferry = ferry

    def fileno(self) -> int:
        """A descriptor that is readable when something new was seen; read it by calling `attempts`."""
        return self._watch.fileno()

    def attempts(self) -> tuple[Attempt, ...]:
        """Every different thing that wanted out so far, first seen first; each is a bypass of the replay."""
        return tuple(self._watch.attempts())

    def counts(self) -> dict[Attempt, int]:
        """The same with how often each was tried."""
        return self._watch.attempts()

    def refused_local(self) -> dict[int, int]:
        """Loopback ports that refused a connection, and how often: candidates for --allow-local, no bypass."""
        return self._watch.refused_local()

    def close(self) -> None:
        """Stops watching. The confinement itself lasts as long as its processes."""
        self._watch.close()


def enter(
    allow_local: Sequence[int] = (), environment: Mapping[str, str] | None = None, *, goes_live: bool = False
) -> Confinement | Unconfined:
    """Confines this process, if the system lets it; tried first in a child, so a refusal leaves nothing half done.

    `allow_local` are TCP ports on 127.0.0.1 that the agent reaches as before, by way of the process that stays
    outside, which with `goes_live` also opens connections for us alone. `environment` (default: our own) tells where
    the user's service sockets lie.
    Raises ConfinementError when called too late, or for a port that is none.
    """
    environment = os.environ if environment is None else environment
    if any(not 0 < port < 65536 for port in allow_local):
        raise ConfinementError("--allow-local takes TCP ports from 1 to 65535", hint="name each port by itself")
    if sys.platform != "linux":
        return Unconfined("only Linux has network namespaces")
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise ConfinementError(
            "confinement was asked for after threads had been started", hint="this is a defect of edgetape"
        )
    refused = _tried_in_a_child(allow_local, environment)
    if refused is not None:
        return refused
    return _enter(tuple(dict.fromkeys(allow_local)), environment, goes_live=goes_live)


def refusal() -> Unconfined | None:
    """What keeps this system from confining an agent, tried in a child; None when nothing does."""
    if sys.platform != "linux":
        return Unconfined("only Linux has network namespaces")
    return _tried_in_a_child((), os.environ)


def _enter(allow_local: Sequence[int], environment: Mapping[str, str], *, goes_live: bool) -> Confinement:
    channel = ferry = None
    try:
        if allow_local or goes_live:
            channel, ferry = _leave_the_bridge_outside(allow_local, goes_live=goes_live)
        watch = _confine(channel, allow_local, environment)
        if channel is not None:
            channel.close()
        return Confinement(watch, ferry)
    except OSError as error:
        raise ConfinementError(
            f"the replay could not be confined: {error.strerror}", hint="use --no-confine to go without"
        ) from error


def _confine(channel: socket.socket | None, ports: Sequence[int], environment: Mapping[str, str]) -> "Watch":
    """Everything that makes this process a confined one, in order; raises OSError at the first refusal."""
    from proxy.confined import bridge, kernel, namespace  # only Linux has what they need
    from proxy.confined.watch import Watch

    namespace.make()
    namespace.cover_service_sockets(environment)
    namespace.lead_everything_home()
    watch = Watch()
    if channel is not None:
        bridge.listen_inside(channel, ports)
    kernel.drop_every_privilege()
    kernel.forbid_inspection()
    if channel is not None:
        kernel.signal_when_parent_ends(SIGTERM)
    return watch


def _leave_the_bridge_outside(ports: Sequence[int], *, goes_live: bool) -> tuple[socket.socket, socket.socket | None]:
    """Forks: the parent becomes the bridge and never returns; the child gets the channel to it, and the ferry's end."""
    from proxy.confined.bridge import stay_outside

    sys.stdout.flush()
    sys.stderr.flush()
    outer, inner = socket.socketpair()
    outer_ferry, inner_ferry = _ferry() if goes_live else (None, None)
    child = os.fork()
    if child > 0:
        for end in (inner, inner_ferry):
            if end is not None:
                end.close()
        stay_outside(child, outer, ports, outer_ferry)
    outer.close()
    if outer_ferry is not None:
        outer_ferry.close()
    return inner, inner_ferry


def _ferry() -> tuple[socket.socket, socket.socket]:
    from proxy.outbound.ferry import pair  # needed in live modes only

    return pair()


def _tried_in_a_child(ports: Sequence[int], environment: Mapping[str, str]) -> Unconfined | None:
    """Does it all once in a child that ends at once; None when nothing was refused."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write_end, _trial(environment).encode())
        finally:
            os._exit(0)  # whatever happens, this child must not go on as if it were us
    os.close(write_end)
    with os.fdopen(read_end, "rb") as answer:
        number, _, reason = answer.read().decode().partition(" ")
    os.waitpid(child, 0)
    if not reason:
        raise ConfinementError(
            "the trial of the confinement broke off", hint="use --no-confine to go without, and report this"
        )
    if int(number) == 0:
        return None
    if int(number) in _REFUSALS:
        name = errno.errorcode[int(number)]
        return Unconfined(f"this system lets no program make a network of its own ({name})", _REFUSED_HINT)
    return Unconfined(f"this system cannot make a network of our own: {reason}")


def _trial(environment: Mapping[str, str]) -> str:
    try:
        _confine(None, (), environment)
    except OSError as error:
        return f"{error.errno} {error.strerror}"
    return "0 confined"
