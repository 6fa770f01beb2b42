"""Time and chance as an agent sees them: kept while it is recorded, given again on replay, without a call of its own.

Time by libfaketime, a library of the system's own that is loaded into each of the agent's processes; chance in Python,
Node and Bun by what is loaded into those (`proxy.agent.preload`). docs/freezing.md says what works on what.
"""

import contextlib
import secrets
import shutil
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from store.core.draft import Draft, Sheet
from store.core.model import Frozen
from store.core.redact import stored
from store.reader import BodyUnavailable, Reader

CLOCK_BYTES_MAX = 64 << 20
READING_BYTES = 16
SEED_BYTES = 32

_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
_LIBRARY = "faketime/libfaketimeMT.so.1"  # that for programs with threads
LIBRARY_HINT = "install the package libfaketime (Debian, Ubuntu, Fedora, Alpine)"
_OWN_CLOCK = ("go",)  # what `go run` builds asks the kernel itself
_INTERPRETER = 3  # PT_INTERP of elf(5): who loads a program that is not linked statically
_OWN_CHANCE = ("java", "go", "ruby", "php", "perl")
_HUNG_BY_TIME = ("java", "javac", "mvn", "gradle")  # a JVM under libfaketime waits for ever


@dataclass(frozen=True, slots=True)
class Freeze:
    """What of a recording is to be frozen: the library that keeps the time, the seed of chance."""

    library: Path | None = None
    seed: bytes | None = None


NOTHING = Freeze()


def library() -> Path | None:
    """Where libfaketime lies, if it is there."""
    for folder in map(Path, _FOLDERS):
        found = sorted((*folder.glob(_LIBRARY), *folder.glob(f"*/{_LIBRARY}")))
        if found:
            return found[0]
    return None


def new_seed() -> bytes:
    """A seed that no other recording has: with an old one, ids would collide at the servers that keep them."""
    return secrets.token_bytes(SEED_BYTES)


def takes_its_own_chance(argv: Sequence[str]) -> str:
    """The language of a command whose chance is not frozen, as far as its name tells; else empty."""
    name = _name(argv)
    return name if name in _OWN_CHANCE else ""


def is_hung_by_time(argv: Sequence[str]) -> bool:
    """Whether a command is known not to run under libfaketime."""
    return _name(argv) in _HUNG_BY_TIME


def keeps_its_own_clock(argv: Sequence[str], path: str | None = None) -> bool:
    """Whether a command is known to look past libfaketime: what is linked statically does, as Go's programs are."""
    found = shutil.which(argv[0], path=path)
    return _name(argv) in _OWN_CLOCK or (found is not None and _is_static(Path(found)))


def _is_static(program: Path) -> bool:
    """Whether an executable of 64 bits needs nobody to load it; False for whatever else a file may be."""
    try:
        with program.open("rb") as file:
            head = file.read(64)
            if head[:6] != b"\x7fELF\x02\x01":
                return False
            at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
            file.seek(at)
            table = file.read(size * count)
    except (OSError, struct.error):
        return False
    kinds = [struct.unpack_from("<I", table, start)[0] for start in range(0, len(table) - 3, max(size, 1))]
    return bool(kinds) and _INTERPRETER not in kinds


def _name(argv: Sequence[str]) -> str:
    return argv[0].rpartition("/")[2].rstrip("0123456789.")


class Icebox:
    """The files of one frozen run, in a folder that lasts as long as the agent."""

    def __init__(self, folder: Path) -> None:
        self._clock, self._past, self._lots = folder / "clock", folder / "past", folder / "lots"

    def saving(self, base: Mapping[str, str], freeze: Freeze) -> dict[str, str]:
        """The variables of an agent that is recorded; the rest of its environment is `base`."""
        timed = (
            {} if freeze.library is None else {**_timed(base, freeze.library), "FAKETIME_SAVE_FILE": str(self._clock)}
        )
        return {**timed, **self._drawing(freeze.seed)}

    def giving(self, base: Mapping[str, str], freeze: Freeze, clock: bytes) -> dict[str, str]:
        """Those of an agent that is replayed; a clock that nobody read is not given."""
        if freeze.library is None or len(clock) < READING_BYTES:
            return self._drawing(freeze.seed)
        self._clock.write_bytes(clock)
        files = {"FAKETIME_LOAD_FILE": str(self._clock), "FAKETIME_SAVE_FILE": str(self._past)}
        return {**_timed(base, freeze.library), **files, **self._drawing(freeze.seed)}

    def clock(self) -> bytes:
        """The readings that were made, the first ones where there are too many to keep."""
        return _read(self._clock, CLOCK_BYTES_MAX)

    def readings_past(self) -> int:
        """How often the agent of a replay read the clock after its recorded readings were used up."""
        return len(_read(self._past, CLOCK_BYTES_MAX)) // READING_BYTES

    def _drawing(self, seed: bytes | None) -> dict[str, str]:
        if seed is None:
            return {}
        self._lots.mkdir()
        hashing = str(int.from_bytes(seed[:4]))  # which PYTHONHASHSEED has to be below 2^32
        return {"EDGETAPE_SEED": seed.hex(), "EDGETAPE_LOTS": str(self._lots), "PYTHONHASHSEED": hashing}


def remove_shared(pid: int) -> None:
    """Removes what libfaketime leaves behind where the first process of an agent, `pid`, became another program."""
    for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
        with contextlib.suppress(OSError):
            Path("/dev/shm", name).unlink()  # noqa: S108  # where shm_open(3) puts it


def draft(kind: str, content: bytes) -> Draft:
    """The event that keeps a clock or a seed."""
    sheet = Sheet()
    body = sheet.apart(stored(content), "application/octet-stream")
    return sheet.draft(Frozen(kind="clock" if kind == "clock" else "seed", body=body))


def kept(reader: Reader, run: str) -> tuple[bytes | None, bytes | None]:
    """The clock and the seed of a run, each None where none was kept or it was erased."""
    found: dict[str, bytes] = {}
    for event in reader.events(run):
        if isinstance(event.facts, Frozen):
            with contextlib.suppress(BodyUnavailable):
                found[event.facts.kind] = reader.body(event, event.facts.body)
    return found.get("clock"), found.get("seed")


def _timed(base: Mapping[str, str], preload: Path) -> dict[str, str]:
    others = base.get("LD_PRELOAD", "")
    return {
        "LD_PRELOAD": f"{preload}:{others}" if others else str(preload),
        "FAKETIME": "+0",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # else what waits with a timeout waits for ever
        "NO_FAKE_STAT": "1",  # files keep their times; and with it, the library looks at its own file without end
    }


def _read(path: Path, size_max: int) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(size_max)
    except OSError:
        return b""
    return content[: len(content) // READING_BYTES * READING_BYTES]
