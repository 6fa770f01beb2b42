"""The states that a run can be in when somebody gets at it; in each store the run to attack is called `closed`."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from store.core.draft import Sheet
from store.core.model import Parent
from store.erasure import Erasure
from store.reader import Reader
from tests.support.tape import Call, Tape, opening, tape

STATES = ("open", "closed", "with erasures", "in a run tree")
LAST = 6  # the event whose bodies are erased: no attack looks at them


def made(base: Path, state: str, calls: Sequence[Call]) -> Path:
    """A sealed store: `closed` (8 events) in this state, `other`, and `open`, whose last event no checkpoint covers.

    The folder in which `store` and `keys` lie.
    """
    with tape(base) as tale:
        run = tale.run(calls, "closed", close=state != "open")
        if state == "open":
            tale.note(run, b"a seventh").result(30)
        elif state == "with erasures":
            tale.writer.erase(Erasure(run, (LAST,), "somebody", "asked for")).result(30)
        elif state == "in a run tree":
            _child(tale, run)
        tale.run(calls, "other")
        going_on = tale.run(calls[:1], "open", close=False)
        tale.note(going_on, b"sealed")
        tale.writer.checkpoint().result(30)
        tale.note(going_on, b"unsealed").result(30)
        shutil.copytree(base, base / "copy")
    return base / "copy"


def _child(tale: Tape, parent: str) -> None:
    """A run that goes on from the middle of another one."""
    with Reader.open(tale.folder, tale.keys) as reader:
        hashed = list(reader.events(parent))[4].place.prev
    point = Parent(run=parent, seq=3, event_hash=hashed)
    begun = msgspec.structs.replace(opening("child", "fork"), parent=point)
    run, _ = tale.writer.open_run(Sheet().draft(begun))
    tale.writer.close_run(run, "agent_exit").result(30)
