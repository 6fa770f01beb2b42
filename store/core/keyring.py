"""Which key may sign which checkpoints of a log, as its own leaves say (docs/format.md, sections 6 and 7).

Pure. Rules kept here:
- The first key is that of `store.created`. Another one comes only by a `key.rotate` that both keys have signed.
- A checkpoint is to be signed by the key that is in force at its size: that of the last rotation which it covers.
- No key comes twice, so a signed statement holds at one place only.
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field

from store.core.checkpoint import SignedCheckpoint, VerifierKey
from store.core.errors import Malformed
from store.core.leaf import KeyRevoked, KeyRotated

_ROTATE = "edgetape/key-rotate/v1"
_REVOKE = "edgetape/key-revoke/v1"


class Unproven(Malformed):
    """A leaf about keys that lacks a true signature, or speaks of a key that is not in force: it changes nothing."""


@dataclass(slots=True)
class Term:
    """When a key is in force: for checkpoints of `first` to `last` leaves. `revoked` is the leaf that revokes it."""

    key: VerifierKey
    first: int
    last: int | None = None
    revoked: int | None = None

    @property
    def state(self) -> str:
        """`current`, `retired` or `revoked`."""
        if self.revoked is not None:
            return "revoked"
        return "current" if self.last is None else "retired"


@dataclass(slots=True)
class Keyring:
    """The keys of one log in the order in which they came into force; `seen` leaves have been taken in."""

    origin: str
    terms: list[Term]
    seen: int = field(default=1, compare=False)

    @classmethod
    def of(cls, key: VerifierKey) -> "Keyring":
        """A log that has this key from the beginning on."""
        return cls(key.name, [Term(key, 0)])

    @property
    def current(self) -> VerifierKey:
        """The key that signs what is written now."""
        return self.terms[-1].key

    def term(self, key: VerifierKey) -> Term | None:
        """When `key` was in force."""
        return next((term for term in self.terms if term.key == key), None)

    def take(self, position: int, facts: object) -> None:
        """Takes in the leaf at `position`, if it is about keys. Raises Unproven for one that is not rightly signed."""
        match facts:
            case KeyRotated():
                self._rotate(position, facts)
            case KeyRevoked():
                self._revoke(position, facts)

    def judge(self, signed: SignedCheckpoint) -> tuple[str, str] | None:
        """None for a checkpoint that is rightly signed; else the code of what is wrong, and a sentence."""
        size = signed.checkpoint.size
        named = [term for term in self.terms if signed.names(term.key)]
        if not named or not all(signed.signed_by(term.key) for term in named):
            label = self.current.label if len(self.terms) == 1 else f"the {len(self.terms)} keys of the log"
            return "V401", f"bears no true signature of {label}"
        found = [_misused(term, size) for term in named]
        return None if None in found else found[-1]

    def _rotate(self, position: int, leaf: KeyRotated) -> None:
        old, new = VerifierKey.parse(leaf.old), VerifierKey.parse(leaf.new)
        if old != self.current or new.name != self.origin or self.term(new) is not None:
            raise Unproven(f"it does not go from {self.current.label} to a new key of this log")
        statement = rotation(self.origin, old, new)
        _demand(old, statement, leaf.old_signature)
        _demand(new, statement, leaf.new_signature)
        self.terms[-1].last = position
        self.terms.append(Term(new, position + 1))

    def _revoke(self, position: int, leaf: KeyRevoked) -> None:
        by, term = VerifierKey.parse(leaf.by), self.term(VerifierKey.parse(leaf.key))
        if by != self.current or term is None or term.state != "retired":
            raise Unproven("a key that is retired is revoked by the one that is in force")
        _demand(by, revocation(self.origin, term.key, by), leaf.signature)
        term.revoked = position


def rotation(origin: str, old: VerifierKey, new: VerifierKey) -> bytes:
    """What both keys sign when `new` takes over."""
    return _statement(_ROTATE, origin, (old, new))


def revocation(origin: str, revoked: VerifierKey, by: VerifierKey) -> bytes:
    """What the key in force signs about one that is not to be believed any more."""
    return _statement(_REVOKE, origin, (revoked, by))


def _statement(label: str, origin: str, keys: Iterable[VerifierKey]) -> bytes:
    return "".join(f"{line}\n" for line in (label, origin, *map(str, keys))).encode()


def _demand(key: VerifierKey, statement: bytes, signature: str) -> None:
    if not key.verifies(statement, _octets(signature)):
        raise Unproven(f"it bears no true signature of {key.label}")


def spelled(signature: bytes) -> str:
    """A signature as a leaf has it: base64url without padding."""
    return base64.urlsafe_b64encode(signature).decode().rstrip("=")


def _octets(text: str) -> bytes:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
    return raw if spelled(raw) == text else b""


def _misused(term: Term, size: int) -> tuple[str, str] | None:
    if size < term.first:
        return "V433", f"is older than its key {term.key.label}, which came with leaf {term.first - 1}"
    if term.revoked is not None and size > term.revoked:
        return "V434", f"is signed by {term.key.label}, which leaf {term.revoked} revoked"
    if term.last is not None and size > term.last:
        return "V432", f"is signed by {term.key.label}, which leaf {term.last} retired"
    return None
