"""What recorder and clerk say to one another: MessagePack, each message behind its length (32 bits, big-endian).

Rules kept here:
- It holds secrets, and goes by a socket that nobody else has. Both ends are of one version, and trust one another.
- What the recorder asks for has a number, from 1; it is answered when it is on disk, or known not to be.
- The file of a `Taken` goes as a descriptor beside its message (unix(7), SCM_RIGHTS), its key inside.
"""

import pickle  # noqa: TID251  # between our own two processes; nothing of it is stored
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from store.core import errors
from store.core.draft import Draft
from store.core.errors import EdgetapeError, InvalidEvent, StoreUnusable
from store.core.leaf import PolicyKind
from store.core.model import CloseReason
from store.core.redact import Redactor
from store.drafting.scribe import Part
from store.drafting.seen import Head, Sight
from store.labels.own import OwnRules
from store.spool import Inside, Taken

LENGTH_BYTES = 4


class Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Something said."""


class Open(Message, frozen=True, tag=1):
    """Open, or make, the store in this folder, with its keys in that one; where a server keeps it, with the password,
    and by the way, that the recorder was given. Answered by Opened or Refused.
    """

    folder: str
    keys: str
    server: tuple[str, str] | None = None


class OpenRun(Message, frozen=True, tag=2):
    """A run begins: `packed` holds its draft, redactor and own rules."""

    number: int
    run: str
    packed: bytes


class Append(Message, frozen=True, tag=3):
    """An event that belongs to the request, or tunnel, with the number `after`; 0 for none."""

    number: int
    run: str
    after: int
    sight: Sight


class AppendDraft(Message, frozen=True, tag=4):
    """The same, drafted already."""

    number: int
    run: str
    after: int
    packed: bytes


class Keep(Message, frozen=True, tag=5):
    """A piece of a stream of the request with that number; `head` where it is the head of an answer."""

    number: int
    run: str
    request: int
    part: Part
    piece: bytes = b""
    head: Head | None = None


class CloseRun(Message, frozen=True, tag=6):
    """A run ends."""

    number: int
    run: str
    reason: CloseReason
    exit_code: int | None


class Checkpoint(Message, frozen=True, tag=7):
    """The log is to be signed."""

    number: int


class Note(Message, frozen=True, tag=8):
    """The policies in force."""

    number: int
    in_force: dict[PolicyKind, str]


class Hurry(Message, frozen=True, tag=9):
    """Somebody waits for what was asked for."""


HURRY = Hurry()


class Forget(Message, frozen=True, tag=10):
    """Nothing more will belong to that request, or tunnel."""

    number: int


class Close(Message, frozen=True, tag=11):
    """Nothing more comes. Answered by Closed, when all is on disk and signed. An end without it is a crash."""


class Failed(msgspec.Struct, frozen=True, array_like=True):
    """An error, by the name of its family."""

    family: str
    words: str
    hint: str

    @classmethod
    def of(cls, error: BaseException) -> "Failed":
        """An error of ours as it is, any other as a fault of what was asked for."""
        known = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _FAMILIES), None)
        hint = error.hint if isinstance(error, EdgetapeError) else ""
        return cls(known or InvalidEvent.__name__, str(error) or type(error).__name__, hint)

    @property
    def error(self) -> EdgetapeError:
        """The same, to be raised."""
        return _FAMILIES.get(self.family, StoreUnusable)(self.words, hint=self.hint)


class Opened(Message, frozen=True, tag=20):
    """The store is open: its origin, the runs that cannot be ended, and why the log is not signed."""

    origin: str
    unrecovered: dict[str, Failed]
    unsigned: Failed | None


class Refused(Message, frozen=True, tag=21):
    """It could not be opened."""

    failed: Failed


class Settled(Message, frozen=True, tag=22):
    """What is on disk (number, seq, event_hash; seq -1 for what is no event), and what will not be; how many exchanges
    were not understood; why the log is not signed.
    """

    done: list[tuple[int, int, bytes]]
    failed: list[tuple[int, Failed]]
    unlabelled: int
    unsigned: Failed | None


class Closed(Message, frozen=True, tag=23):
    """All is on disk; why it is not signed."""

    unsigned: Failed | None


type Asked = Open | OpenRun | Append | AppendDraft | Keep | CloseRun | Checkpoint | Note | Hurry | Forget | Close
type Told = Opened | Refused | Settled | Closed

_FAMILIES: Mapping[str, type[EdgetapeError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, EdgetapeError) and kind is not EdgetapeError
}


class Mouth:
    """Spells messages; `taken` gathers what goes beside them."""

    def __init__(self) -> None:
        self.taken: list[Taken] = []
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._spell)

    def say(self, message: Asked | Told, into: bytearray) -> None:
        """Adds a message to what is to go out."""
        start = len(into)
        into += bytes(LENGTH_BYTES)
        try:
            self._encoder.encode_into(message, into, start + LENGTH_BYTES)
        except BaseException:
            del into[start:]  # half a message would make everything after it unreadable
            self.taken.clear()
            raise
        into[start : start + LENGTH_BYTES] = (len(into) - start - LENGTH_BYTES).to_bytes(LENGTH_BYTES)

    def _spell(self, value: object) -> Inside:
        assert isinstance(value, Taken)
        self.taken.append(value)
        return value.inside


class Ear[M]:
    """Puts messages together from what comes in; `descriptors` are those that came beside them and are not used yet."""

    def __init__(self, kind: Any) -> None:  # noqa: ANN401  # a union of messages, which no type names
        self.descriptors: deque[int] = deque()
        self._came = bytearray()
        self._decoder: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(kind, dec_hook=self._understand)

    def hear(self, came: bytes) -> Iterator[M]:
        """The messages that are whole now."""
        self._came += came
        at = 0
        while len(self._came) - at >= LENGTH_BYTES:
            start = at + LENGTH_BYTES
            end = start + int.from_bytes(self._came[at:start])
            if end > len(self._came):
                break
            with memoryview(self._came) as view, view[start:end] as spelled:
                message = self._decoder.decode(spelled)
            yield message
            at = end
        del self._came[:at]

    def _understand(self, kind: type, value: object) -> Taken:
        inside = msgspec.convert(value, Inside)
        return Taken(self.descriptors.popleft() if inside.blocks else -1, inside)


def packed_run(draft: Draft, redactor: Redactor, own: OwnRules) -> bytes:
    """What makes a run, as the message that opens it carries it."""
    return pickle.dumps((draft, redactor, own))


def unpacked_run(packed: bytes) -> tuple[Draft, Redactor, OwnRules]:
    """The same, read."""
    made: tuple[Draft, Redactor, OwnRules] = pickle.loads(packed)  # noqa: S301  # our own process made it
    return made


def packed_draft(draft: Draft) -> bytes:
    """A draft, as a message carries it: its facts name bodies by their places in it, as no record does."""
    return pickle.dumps(draft)


def unpacked_draft(packed: bytes) -> Draft:
    """The same, read."""
    made: Draft = pickle.loads(packed)  # noqa: S301  # our own process made it
    return made
