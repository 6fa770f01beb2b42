"""The few Linux calls that Python does not offer, as functions that raise OSError: prctl(2), capset(2), mount(2)."""

import ctypes
import os
import struct
from pathlib import Path

_MS_BIND = 0x1000

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_LINUX_CAPABILITY_VERSION_3 = 0x20080522
_CAPABILITIES_MAX = 64

_NO_MORE = (ctypes.c_ulong(0),) * 3  # prctl wants every argument that it does not use to be zero
_libc = ctypes.CDLL(None, use_errno=True)


def drop_every_privilege() -> None:
    """Gives up every capability of the calling process, also those that an exec could bring back (capabilities(7)).

    Call it with one thread: threads that exist already keep what they have. Nothing undoes it, for this process or
    for any that it starts.
    """
    for capability in range(_CAPABILITIES_MAX):
        if _libc.prctl(_PR_CAPBSET_READ, ctypes.c_ulong(capability), *_NO_MORE) == 1:
            _prctl(_PR_CAPBSET_DROP, capability)
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("@Ii", _LINUX_CAPABILITY_VERSION_3, 0)
    nothing = bytes(2 * 3 * 4)  # effective, permitted, inheritable, in two words each
    _checked(_libc.capset(header, nothing), "capset")
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def forbid_inspection() -> None:
    """No process of the same user may read or change our memory (ptrace(2)); a program that we start is free again."""
    _prctl(_PR_SET_DUMPABLE, 0)


def signal_when_parent_ends(number: int) -> None:
    """Asks for a signal when the parent process ends; one that has ended already sends none."""
    _prctl(_PR_SET_PDEATHSIG, number)


def bind(source: Path, target: Path) -> None:
    """Puts one file, or folder, over another in our mount namespace (mount(2), MS_BIND)."""
    paths = os.fsencode(source), os.fsencode(target)
    _checked(_libc.mount(*paths, None, ctypes.c_ulong(_MS_BIND), None), f"mount over {target}")


def _prctl(option: int, value: int) -> None:
    _checked(_libc.prctl(option, ctypes.c_ulong(value), *_NO_MORE), f"prctl {option}")


def _checked(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
