"""The secrets of one run: what is known is found wherever it stands, and each is told apart by its mark.

Rules kept here:
- Nothing is known but in memory; only marks leave.
- A secret that is looked for, or that a server issued, keeps the class that it first got, wherever it turns up. Of what
  is too short or too common to be looked for, each class counts its own.
- What the environment holds is looked for always; of what was learned on the way, the newest; of what only may be a
  secret (the value of a header that nobody knows), the few that came last.
"""

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator

from store.core.redaction.clean import Clean
from store.core.redaction.likeness import LEARNED_BYTES_MIN, is_learnable
from store.core.redaction.marks import ISSUED, mark
from store.core.redaction.spans import Span
from store.core.redaction.spellings import Needle, needles

LEARNED_MAX = 128
PASSING_MAX = 16
ISSUED_BYTES_MIN = 3  # a cookie of one letter is the same as many other things
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"


class Known:
    """`version` grows when there is more to look for, of which no spelling is longer than `longest`; `clean` remembers
    where nothing was found.
    """

    def __init__(self, environment: Iterable[str] = ()) -> None:
        self.version = self.longest = 0
        self.clean = Clean()
        self._marks: dict[bytes | tuple[str, bytes], tuple[str, bytes]] = {}
        self._secrets: dict[bytes, bytes] = {}
        self._counts: Counter[str] = Counter()
        self._environment: dict[bytes, tuple[Needle, ...]] = {}
        self._learned: OrderedDict[bytes, tuple[Needle, ...]] = OrderedDict()
        self._passing: OrderedDict[bytes, tuple[Needle, ...]] = OrderedDict()
        self._tables = (self._environment, self._learned, self._passing)
        for value in environment:
            raw = value.encode("utf-8", "surrogateescape")
            if len(raw) >= LEARNED_BYTES_MIN:
                self._environment[raw] = self._spelled(raw)

    def mark(self, span: Span) -> tuple[str, bytes]:
        """The class that a secret goes by, and its mark."""
        secret = span.secret
        if span.learn:
            self.learn(secret, span.kind)
        brief = _brief(secret)
        alone = self._is_known(secret) or (span.kind in ISSUED and len(secret) >= ISSUED_BYTES_MIN)
        known = self._marks.get(brief)
        if known is None and not alone:
            known = self._marks.get((span.kind, brief))
        if known is None:
            self._counts[span.kind] += 1
            known = span.kind, mark(span.kind, self._counts[span.kind])
            self._marks[brief if alone else (span.kind, brief)] = known
            if alone:
                self._secrets[known[1]] = secret
        return known

    def secret_of(self, marked: bytes) -> bytes | None:
        """What a mark stands for, as far as that is looked for."""
        return self._secrets.get(marked)

    def learn(self, secret: bytes, kind: str = "", *, always: bool = False) -> None:
        """Looks for a secret from now on, where it is long and odd enough for that (or `always`)."""
        table, most = (self._passing, PASSING_MAX) if kind == "header" else (self._learned, LEARNED_MAX)
        if secret in table:
            table.move_to_end(secret)
            return
        if table is self._learned:
            self._passing.pop(secret, None)  # now it is sure
        if self._is_known(secret) or not (always or is_learnable(secret)):
            return
        table[secret] = self._spelled(secret)
        self.version += 1
        if len(table) > most:
            table.popitem(last=False)

    def adopt(self, secret: bytes, kind: str) -> bytes:
        """Looks for a secret that we made ourselves; its mark."""
        self.learn(secret, always=True)
        return self.mark(Span(0, len(secret), kind, secret))[1]

    def search(self, content: bytes, start: int, stop: int, dense: bytes | None = None) -> Iterator[Span]:
        """The known secrets that begin between `start` and `stop`, in any spelling. `dense`, of the same window, tells
        sooner where there is none.
        """
        for table in self._tables:
            for secret, spelled in tuple(table.items()):
                for needle in spelled:
                    if dense is not None and needle.core not in dense:
                        continue
                    at = content.find(needle.raw, start, stop + len(needle.raw) - 1)
                    if at >= 0:
                        yield from _occurrences(content, at, stop, secret, needle)

    def _spelled(self, secret: bytes) -> tuple[Needle, ...]:
        spelled = needles(secret)
        self.longest = max(self.longest, *(len(needle.raw) for needle in spelled))
        return spelled

    def _is_known(self, secret: bytes) -> bool:
        return any(secret in table for table in self._tables)

    def begins(self, tail: bytes) -> int:
        """How many of the last bytes of `tail` may be the beginning of a known secret."""
        longest = 0
        for table in self._tables:
            for spelled in table.values():
                for needle in spelled:
                    longest = max(longest, _beginning(tail, needle.raw, longest))
        return longest


def _occurrences(content: bytes, start: int, stop: int, secret: bytes, needle: Needle) -> Iterator[Span]:
    size = len(needle.raw)
    at = content.find(needle.raw, start, stop + size - 1)
    while at >= 0:
        begin, end = at, at + size
        if needle.padded:
            begin -= needle.before and content[max(0, at - 1) : at].strip(_BASE64) == b""
            end += needle.after and content[end : end + 1].strip(_BASE64) == b"" and end < len(content)
            while content[end : end + 1] == b"=":
                end += 1
        yield Span(max(0, begin), end, "environment", secret)
        at = content.find(needle.raw, at + size, stop + size - 1)


def _beginning(tail: bytes, needle: bytes, least: int) -> int:
    """How much of `tail`'s end begins `needle`, where that is more than `least`."""
    at = tail.find(needle[:1], max(0, len(tail) - len(needle) + 1))
    while 0 <= at < len(tail) - least:
        if needle.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(needle[:1], at + 1)
    return 0


def _brief(secret: bytes) -> bytes:
    """What tells secrets apart without keeping the long ones."""
    return secret if len(secret) <= 32 else hashlib.blake2b(secret, digest_size=16).digest()
