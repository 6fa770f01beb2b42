"""The leaves of the store log: small records of what happened to the store itself (docs/format.md, section 6)."""

from typing import Literal, get_args

import msgspec

from store.core import canonical
from store.core.model import Facts
from store.core.shape import VERSION, Count, Run, Shape, Time, members
from store.core.text import Hex32

AnchorKind = Literal["rfc3161", "cosignature"]
RevokeReason = Literal["compromised", "lost", "superseded"]
PolicyKind = Literal["redaction", "retention"]
Bundled = Literal["included", "withheld"]


class Moment(msgspec.Struct, frozen=True):
    """When a leaf was written."""

    ts: Time


class StoreCreated(Facts, frozen=True, tag="store.created"):
    """Leaf 0: the log's origin and the key that signs it."""

    origin: str
    vkey: str


class RunOpened(Facts, frozen=True, tag="run.open"):
    """A run began: its genesis and the hash of its event 0."""

    run: Run
    genesis: Hex32
    head: Hex32


class RunHead(Facts, frozen=True, tag="run.head"):
    """A run had `n` events, the last one with the hash `head`."""

    run: Run
    n: Count
    head: Hex32


class RunClosed(Facts, frozen=True, tag="run.close"):
    """A run ended: `n` events with its run.close, the hash of that one, and the RFC 6962 root over those before it."""

    run: Run
    n: Count
    head: Hex32
    root: Hex32


class RunImported(Facts, frozen=True, tag="run.import"):
    """A run of the store `origin` came in a bundle that verified: `n` events, the hash of the last one, and size and
    root of the checkpoint that covered them there.
    """

    run: Run
    origin: str
    n: Count
    head: Hex32
    size: Count
    root: Hex32


class PayloadErased(Facts, frozen=True, tag="payload.erased"):
    """The bodies of one event, or of all events of a run, were erased: by whom, why, and by which policy."""

    run: Run
    by: str
    reason: str
    seq: Count | None = None
    policy: str | None = None


class HoldSet(Facts, frozen=True, tag="hold.set"):
    """From here on no body of a run may be erased: who says so, and why."""

    run: Run
    by: str
    reason: str


class HoldReleased(Facts, frozen=True, tag="hold.release"):
    """They may be again."""

    run: Run
    by: str
    reason: str


class RunTagged(Facts, frozen=True, tag="run.tag"):
    """A run has this tag from here on, or (without a text) no longer: who says so."""

    run: Run
    by: str
    key: str
    text: str | None = None


class AnnotationHead(Facts, frozen=True, tag="annotation.head"):
    """A run has `n` annotations (`store.core.annotation`) from here on, the last one with the hash `head`."""

    run: Run
    n: Count
    head: Hex32


class RetentionPruned(Facts, frozen=True, tag="retention.pruned"):
    """All events and bodies of a run left the store: by whom, why, and by which policy. What the log said of the run
    before speaks of nothing that is to be there.
    """

    run: Run
    by: str
    reason: str
    policy: str | None = None


class PolicyChanged(Facts, frozen=True, tag="policy.changed"):
    """Other rules are in force from here on: their digest or version, and that of those before."""

    policy: PolicyKind
    now: str
    before: str | None = None


class AccessExport(Facts, frozen=True, tag="access.export"):
    """A run was written into a bundle: by whom, its SHA-256, the size of the checkpoint in it, with bodies or not."""

    run: Run
    by: str
    sha256: Hex32
    size: Count
    bodies: Bundled


class RecorderStart(Facts, frozen=True, tag="recorder.start"):
    """A program began to write into the store."""

    recorder: str
    version: str


class RecorderStop(Facts, frozen=True, tag="recorder.stop"):
    """That program ended in order."""

    recorder: str


class KeyRotated(Facts, frozen=True, tag="key.rotate"):
    """Another key signs from here on: the vkeys of both, and the signatures of both over it (`store.core.keyring`)."""

    old: str
    new: str
    old_signature: str
    new_signature: str


class KeyRevoked(Facts, frozen=True, tag="key.revoke"):
    """A key that was in force before is not to be believed any more: its vkey, and that of the key that signs this."""

    key: str
    reason: RevokeReason
    by: str
    signature: str


class Anchored(Facts, frozen=True, tag="anchor"):
    """Somebody outside has signed something about the checkpoint over `size` leaves: what it gave is kept, and this is
    its SHA-256. Every later leaf is younger. `by` says who it was, for people.
    """

    kind: AnchorKind
    size: Count
    sha256: Hex32
    by: str


type Leaf = (
    StoreCreated
    | RunOpened
    | RunHead
    | RunClosed
    | RunImported
    | PayloadErased
    | HoldSet
    | HoldReleased
    | RunTagged
    | AnnotationHead
    | RetentionPruned
    | PolicyChanged
    | AccessExport
    | RecorderStart
    | RecorderStop
    | KeyRotated
    | KeyRevoked
    | Anchored
)

LEAF_TYPES: dict[str, type[Facts]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Leaf.__value__)}

_SHAPE = Shape(Moment, LEAF_TYPES)


def encode(ts: str, leaf: Leaf) -> bytes:
    """The canonical bytes of a leaf written at `ts`."""
    return canonical.encode({**members(leaf), "ts": ts, "v": VERSION})


def decode(raw: bytes) -> tuple[str, Facts]:
    """When a leaf was written, and what it says. Raises UnknownVersion, UnknownShape or Malformed."""
    moment, facts = _SHAPE.read(raw)
    return moment.ts, facts
