"""Two recordings side by side: which step of the one is which of the other, and how they differ. Pure.

Rules kept here:
- Equal requests (but for ids that an agent makes up anew) are the same step, in the order that leaves the fewest over.
- What is left between two such anchors is paired with the nearest of the same place: changed. The rest is only in one.
- A step that stands in both, but elsewhere, is moved.
- A change that a later request only repeats is told once; the later step follows from it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

from replay_server.conversation import conversation
from replay_server.drift import Causes, Change, changes
from replay_server.minted import blanked
from replay_server.nearest import nearest_conversation, nearest_form, operation
from store.core.compare import Difference, differences
from store.core.form import Form
from store.core.jsontext import Node

type Kind = Literal["same", "changed", "moved", "inserted", "removed"]


@dataclass(frozen=True)
class Side:
    """One step of one recording: `answer` is what came back, as far as it means something; on a WebSocket models may
    have been asked several `times`.
    """

    step: int
    place: str
    form: Form
    answer: dict[str, Node]
    tokens: dict[str, int] = field(default_factory=dict)
    took_us: int = 0
    times: int = 1

    @cached_property
    def key(self) -> bytes:
        """Equal for equal requests."""
        return blanked(self.form).key

    @property
    def kin(self) -> tuple[object, ...]:
        """What two requests must share to be one that changed."""
        return (*self.form.endpoint, operation(self.form.body))


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the comparison. `request` are new changes of the request; `follows` is the step whose change it only
    repeats; `answer` is how the answers differ.
    """

    kind: Kind
    a: Side | None
    b: Side | None
    request: tuple[Change, ...] = ()
    answer: tuple[Difference, ...] = ()
    follows: int | None = None

    @property
    def differs(self) -> bool:
        """Whether there is anything to tell."""
        return self.kind != "same" or bool(self.answer)


def align(a: Sequence[Side], b: Sequence[Side]) -> list[Entry]:
    """The comparison, in the order of `b`, with what only `a` has where it stood."""
    causes = Causes()
    entries = []
    for kind, left, right in _told(_pairs(a, b)):
        found = changes(left.form, right.form) if left and right and left.key != right.key else []
        new, follows = causes.sort(left.step if left else 0, found) if found else ([], None)
        answer = tuple(differences(left.answer, right.answer)) if left and right else ()
        entries.append(Entry(kind, left, right, tuple(new), answer, follows))
    return entries


type _Pair = tuple[Kind, Side | None, Side | None]


def _pairs(a: Sequence[Side], b: Sequence[Side]) -> Iterator[_Pair]:
    blocks = SequenceMatcher(None, [side.key for side in a], [side.key for side in b], autojunk=False)
    for tag, a_from, a_to, b_from, b_to in blocks.get_opcodes():
        if tag == "equal":
            yield from (("same", left, right) for left, right in zip(a[a_from:a_to], b[b_from:b_to], strict=True))
        else:
            yield from _gap(list(a[a_from:a_to]), b[b_from:b_to])


def _gap(left: list[Side], right: Sequence[Side]) -> Iterator[_Pair]:
    """Between two anchors: each of `right` with the nearest of what is left of `left`, in order."""
    for side in right:
        kin = [other for other in left if other.kin == side.kin]
        near = _nearest(side.form, kin)
        if near is None:
            yield "inserted", None, side
            continue
        before = left[: left.index(near)]
        yield from (("removed", other, None) for other in before)
        del left[: len(before) + 1]
        yield "changed", near, side
    yield from (("removed", other, None) for other in left)


def _nearest(form: Form, kin: Sequence[Side]) -> Side | None:
    said = conversation(form)
    if said is None:
        index = nearest_form(form, iter(range(len(kin))), lambda at: kin[at].form)
    else:
        talks = {at: talk for at, other in enumerate(kin) if (talk := conversation(other.form)) is not None}
        index = nearest_conversation(said, talks)
    return None if index is None else kin[index]


def _told(pairs: Iterator[_Pair]) -> Iterator[_Pair]:
    """The same with what left here and came back there told as moved."""
    listed = list(pairs)
    gone: dict[bytes, list[Side]] = {}
    for kind, left, _ in listed:
        if kind == "removed" and left is not None:
            gone.setdefault(left.key, []).append(left)
    moved: set[int] = set()
    for at, (kind, _, right) in enumerate(listed):
        if kind == "inserted" and right is not None and gone.get(right.key):
            left = gone[right.key].pop(0)
            listed[at] = "moved", left, right
            moved.add(left.step)
    return (pair for pair in listed if not (pair[0] == "removed" and pair[1] is not None and pair[1].step in moved))
