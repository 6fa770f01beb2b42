"""The agent of a replay: the recorded command in its recorded folder, or the one that was given instead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proxy.agent.freezing import NOTHING, Freeze, kept, library
from proxy.agent.identity import recorded
from proxy.border import Misuse
from store.core.base import Base
from store.reader import Reader, RunInfo

_GIVE = "give it after --: edgetape replay {} -- COMMAND"


@dataclass(frozen=True, slots=True)
class Revival:
    """What to run: `folder` is None for the current one; `environment` has what SDKs refuse to start without, of which
    `standins` is made up; `bases` are the servers that ports stood for; `freeze` and `clock` what is given of
    time and chance.
    """

    argv: tuple[str, ...]
    folder: Path | None
    environment: Mapping[str, str]
    standins: tuple[str, ...] = ()
    bases: tuple[Base, ...] = ()
    freeze: Freeze = NOTHING
    clock: bytes = b""

    @property
    def lacks_library(self) -> bool:
        """Whether the time was frozen and cannot be given again here."""
        return bool(self.clock) and self.freeze.library is None


def revival(reader: Reader, run: RunInfo, given: Sequence[str], environment: Mapping[str, str]) -> Revival:
    """What to run for a replay of `run`; `given` is the command line's own command, or empty.

    Raises Misuse for a recorded command that cannot be run again as it stands, BodyUnavailable for an erased one,
    KeyUnavailable where no body can be read.
    """
    reader.demand_key()
    known = recorded(reader, run.id)
    made = {name: stand_in(name) for name in known.credential_names if name not in environment}
    revived, standins = made | dict(environment), tuple(made.values())
    clock, seed = kept(reader, run.id)
    freeze = Freeze(library() if clock else None, seed)
    if given:
        return Revival(tuple(given), None, revived, standins, known.bases, freeze, clock or b"")
    give = _GIVE.format(run.name or run.id)
    if not known.argv:
        raise Misuse(f"run {run.id} was recorded without the command of its agent", hint=give)
    if known.is_redacted:
        raise Misuse("the recorded command held a secret, which was not recorded", hint=give)
    argv = tuple(argument.decode("utf-8", "surrogateescape") for argument in known.argv)
    return Revival(argv, known.folder, revived, standins, known.bases, freeze, clock or b"")


def stand_in(name: str) -> str:
    """A value for a credential that was set at the recording and is not now."""
    return f"edgetape-stand-in-for-{name.lower().replace('_', '-')}"
