"""The manifest of a bundle: what it is of, and every other member with its digest and length; pure.

It proves nothing by itself: it is there so that a missing, added or damaged member is named as such.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from store.core.errors import Malformed
from store.core.shape import Count, Run
from store.core.text import Hex32

FORMAT = "edgetape/bundle/1"
NAME = "manifest.json"
MANIFEST_BYTES_MAX = 1 << 25

Log = Literal["full", "proofs"]
Bodies = Literal["included", "withheld"]

README, CHECKPOINT, VKEY, LOG, EVENTS = "README.txt", "checkpoint", "vkey", "log.ndjson", "events.ndjson"
HASHES, OPENINGS, ANNOTATIONS = "hashes.txt", "openings.ndjson", "annotations.ndjson"
REPORT_PAGE, REPORT, VERIFIER = "report.html", "report.json", "verify.py"
BLOB, PROOF = re.compile(r"blobs/[0-9a-f]{64}"), re.compile(r"proofs/(0|[1-9][0-9]{0,14})\.tlog-proof")
ANCHOR = re.compile(r"anchors/(0|[1-9][0-9]{0,14})\.(tsr|cosignature|checkpoint|consistency)")
_ALWAYS = frozenset((README, CHECKPOINT, VKEY, EVENTS, HASHES, REPORT_PAGE, REPORT, VERIFIER))


class Sealed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A member: its length in bytes and its SHA-256 (hex)."""

    bytes: Count
    sha256: Hex32


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["edgetape/bundle/1"]
    origin: str
    size: Count
    runs: list[Run]
    log: Log
    bodies: Bodies
    members: dict[str, Sealed]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle says of itself: the log `origin` at `size` leaves, these runs, these members."""

    origin: str
    size: int
    runs: tuple[str, ...]
    log: Log
    bodies: Bodies
    members: Mapping[str, Sealed]

    def allows(self, name: str) -> bool:
        """Whether version 1 has a member of this name in such a bundle."""
        with_bodies = self.bodies == "included"
        if (
            name in _ALWAYS
            or name == ANNOTATIONS
            or (name == OPENINGS and with_bodies)
            or (name == LOG and self.log == "full")
        ):
            return True
        anchor = ANCHOR.fullmatch(name)
        if anchor is not None:
            return self.log == "proofs" or anchor[2] != "consistency"
        return bool((with_bodies and BLOB.fullmatch(name)) or (self.log == "proofs" and PROOF.fullmatch(name)))

    @property
    def required(self) -> frozenset[str]:
        """The members that such a bundle cannot do without."""
        more = {LOG} if self.log == "full" else set()
        return _ALWAYS | more | ({OPENINGS} if self.bodies == "included" else set())


def sealed(content: bytes | memoryview) -> Sealed:
    """What a manifest says of a member."""
    return Sealed(len(content), hashlib.sha256(content).hexdigest())


def encode(manifest: Manifest) -> bytes:
    """The one spelling of a manifest: sorted, a member a line."""
    members = {name: {"bytes": each.bytes, "sha256": each.sha256} for name, each in manifest.members.items()}
    said = {
        "format": FORMAT,
        "origin": manifest.origin,
        "size": manifest.size,
        "runs": list(manifest.runs),
        "log": manifest.log,
        "bodies": manifest.bodies,
        "members": members,
    }
    return (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()


def parse(raw: bytes) -> Manifest:
    """Raises Malformed for anything but the one spelling of a manifest of version 1."""
    if len(raw) > MANIFEST_BYTES_MAX:
        raise Malformed("the manifest is too long")
    try:
        form = msgspec.json.decode(raw, type=_Form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"no manifest of {FORMAT}: {error}") from None
    manifest = Manifest(form.origin, form.size, tuple(form.runs), form.log, form.bodies, form.members)
    if encode(manifest) != raw or not _ordered(form.runs):
        raise Malformed("the manifest is spelled in another way than the one that is written")
    return manifest


def _ordered(runs: Sequence[str]) -> bool:
    return list(runs) == sorted(set(runs))


assert get_args(_Form.__annotations__["format"]) == (FORMAT,)
