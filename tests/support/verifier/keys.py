"""Sections 6 and 7: which key may sign which checkpoint (rule 8)."""

import base64
import binascii
from dataclasses import dataclass, field

from tests.support.verifier import ed25519
from tests.support.verifier.canonical import Record
from tests.support.verifier.notes import Checkpoint, Key


@dataclass
class Term:
    """A key with the smallest and largest size that it signs, and where it was revoked."""

    key: Key
    vkey: str
    first: int = 0
    last: int | None = None
    revoked: int | None = None


def _is_signed(key: Key, lines: list[str], text: object) -> bool:
    """Say whether the lines bear the key's signature, in base64url without padding."""
    try:
        data = base64.b64decode(str(text) + "=" * (-len(str(text)) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return False
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != text:
        return False
    return ed25519.verify(key.public, "".join(f"{line}\n" for line in lines).encode(), data)


@dataclass
class Ring:
    """The keys of a log, oldest first."""

    terms: list[Term] = field(default_factory=list)

    def find(self, key: Key | None) -> Term | None:
        """Give the term of a key."""
        return next((term for term in self.terms if term.key == key), None)

    def take(self, position: int, leaf: Record) -> bool:
        """Apply a leaf about keys; false when it is not as the page says."""
        if not self.terms or leaf["type"] not in ("key.rotate", "key.revoke"):
            return True
        return self._rotate(position, leaf) if leaf["type"] == "key.rotate" else self._revoke(position, leaf)

    def _rotate(self, position: int, leaf: Record) -> bool:
        now, new = self.terms[-1], Key.read(str(leaf["new"]))
        if new is None or Key.read(str(leaf["old"])) != now.key or new.name != now.key.name or self.find(new):
            return False
        lines = ["edgetape/key-rotate/v1", now.key.name, str(leaf["old"]), str(leaf["new"])]
        if not _is_signed(now.key, lines, leaf["old_signature"]) or not _is_signed(new, lines, leaf["new_signature"]):
            return False
        now.last = position
        self.terms.append(Term(new, str(leaf["new"]), position + 1))
        return True

    def _revoke(self, position: int, leaf: Record) -> bool:
        now, term = self.terms[-1], self.find(Key.read(str(leaf["key"])))
        if Key.read(str(leaf["by"])) != now.key or term is None or term is now or term.revoked is not None:
            return False
        lines = ["edgetape/key-revoke/v1", now.key.name, str(leaf["key"]), str(leaf["by"])]
        if not _is_signed(now.key, lines, leaf["signature"]):
            return False
        term.revoked = position
        return True

    def judge(self, note: Checkpoint) -> str | None:
        """Give the code of what is wrong with the signatures of a note."""
        named = [term for term in self.terms if note.names(term.key)]
        if not named or not all(note.is_signed_by(term.key) for term in named):
            return "V401"
        if any(term.first <= note.size <= (note.size if term.last is None else term.last) for term in named):
            return None
        term = named[-1]
        if note.size < term.first:
            return "V433"
        return "V434" if term.revoked is not None and note.size > term.revoked else "V432"
