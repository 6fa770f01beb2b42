"""Draws what Python takes for chance from a seed, so that a replay draws the same; and mends sleep under libfaketime.

Each process draws from a lot of its own: by the seed, by its command line, and by how many of that line came before it
(which mkdir(2) counts), so that two workers never make the same id. OpenSSL's own randomness is left alone.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

SEED, LOTS = "EDGETAPE_SEED", "EDGETAPE_LOTS"


class _Lot:
    """Bytes without end from a key: BLAKE2b in counter mode."""

    def __init__(self, key: bytes) -> None:
        self._rest = b""
        self._begin(key)
        os.register_at_fork(before=self._count, after_in_child=self._part)

    def take(self, size: int) -> bytes:
        """The next bytes. Raises ValueError as os.urandom does."""
        from hashlib import blake2b

        if size < 0:
            raise ValueError("negative argument not allowed")
        with self._lock:
            while len(self._rest) < size:
                self._rest += blake2b(self._drawn.to_bytes(8, "big"), key=self._key).digest()
                self._drawn += 1
            taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def _begin(self, key: bytes) -> None:
        import threading

        self._key, self._drawn, self._forks, self._rest = key, 0, 0, b""
        self._lock = threading.Lock()

    def _count(self) -> None:
        self._forks += 1

    def _part(self) -> None:
        from hashlib import blake2b

        self._begin(blake2b(b"fork %d" % self._forks, key=self._key).digest())


def _key_of(seed: bytes, lots: str) -> bytes:
    from hashlib import blake2b

    try:
        with open("/proc/self/cmdline", "rb") as file:
            line = file.read()
    except OSError:
        line = repr(getattr(sys, "orig_argv", "")).encode()
    number, mark = 0, blake2b(b"python\0" + line, key=seed, digest_size=8).hexdigest()
    while number < 1_000_000:
        try:
            os.mkdir(f"{lots}/{mark}-{number}")
            break
        except FileExistsError:
            number += 1
        except OSError:
            break  # the folder is gone: the recording is over
    return blake2b(f"{mark} {number}".encode(), key=seed).digest()


def _random(module: ModuleType, take: Callable[[int], bytes]) -> None:
    """The random module: its generators seed themselves by the system, past os.urandom."""
    original = module.Random.seed

    def seed(self: Any, a: object = None, version: int = 2) -> None:
        original(self, int.from_bytes(take(64), "big") if a is None else a, version)

    module.Random.seed = seed
    module._inst.seed()
    os.register_at_fork(after_in_child=module._inst.seed)  # after that of the module itself, which asks the system


def _uuid(module: ModuleType, take: Callable[[int], bytes]) -> None:
    """uuid1, which libuuid makes where it is there, of a network card that a replay does not have."""
    module._generate_time_safe = None  # type: ignore[attr-defined]
    module._node = int.from_bytes(take(6), "big") | 1 << 40  # type: ignore[attr-defined]  # RFC 9562, section 6.10


def _sleep(seconds: float) -> None:
    import select

    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select((), (), (), seconds)


def begin(environment: Mapping[str, str]) -> dict[str, Callable[[ModuleType], None]]:
    """Changes os and time at once; gives the modules that are to be changed when they are imported."""
    if "libfaketime" in environment.get("LD_PRELOAD", ""):
        import time

        time.sleep = _sleep  # type: ignore[assignment]  # its clock_nanosleep(2) fails where libfaketime leaves the monotonic clock alone
    if not environment.get(SEED):
        return {}
    take = _Lot(_key_of(bytes.fromhex(environment[SEED]), environment.get(LOTS, ""))).take
    os.urandom = take
    if hasattr(os, "getrandom"):
        os.getrandom = lambda size, flags=0: take(size)
    return {"random": lambda module: _random(module, take), "uuid": lambda module: _uuid(module, take)}
