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
CALLS = (
    Call(body=b'{"q":1}', answer=b'{"a":1}'),
    Call(body=b'{"q":2}', answer=b'{"a":2}', query=b"key=secret&n=1"),
    Call(b"/rules", answer=b"[]", method=b"GET"),
)
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


def annotated(base: Path) -> Path:
    """Fills a folder with a store that has a run in each of some states, with annotations of the events 1, 3 and 3, and
    `other`, without; the folder.
    """
    with tape(base) as tale:
        tale.run(CALLS, "other")
        for state in ("open", "closed", "with erasures"):
            run = tale.run(CALLS, state, close=state != "open")
            for number, seq in enumerate((1, 3, 3)):
                tale.annotate(run, seq, f"what is said {number}", supersedes=1 if number == 2 else None)
            if state == "with erasures":
                tale.annotate(run, 5, "to be erased")
                tale.writer.erase(Erasure(run, (5,), "somebody", "asked for")).result(30)
    return base


def _child(tale: Tape, parent: str) -> None:
    """A run that goes on from the middle of another one."""
    with Reader.open(tale.folder, tale.keys) as reader:
        hashed = list(reader.events(parent))[4].place.prev
    point = Parent(run=parent, seq=3, event_hash=hashed)
    begun = msgspec.structs.replace(opening("child", "fork"), parent=point)
    run, _ = tale.writer.open_run(Sheet().draft(begun))
    tale.writer.close_run(run, "agent_exit").result(30)
