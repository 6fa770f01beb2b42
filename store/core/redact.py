"""Redaction: what a run proves itself with never reaches the store. This is its one door; its rooms are in `redaction`.

Rules kept here:
- A secret is replaced by `<edgetape:CLASS:k>`, k counting the distinct secrets of its class in the run from 1: so
  matching can still tell two secrets apart without holding either.
- Recording and replay apply the same rules, so a rotated key never misses.
- The store takes only `Redacted` values; only redaction makes them.
- No step takes longer than some milliseconds: whoever has long bodies calls `body_steps` and pauses between steps.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from store.core.redaction import addresses, bodies, endpoints, fields, headers, long, texts
from store.core.redaction.bodies import Content
from store.core.redaction.known import Known
from store.core.redaction.long import Keep, Long, Pieces
from store.core.redaction.marks import Redacted, is_withheld, stored
from store.core.redaction.names import credentials, is_credential_name, secrets_of
from store.core.redaction.spans import Span, drained, without
from store.core.redaction.stream import Stream

__all__ = [
    "RULES", "Content", "Long", "Redacted", "Redactor", "credentials", "drained", "is_credential_name", "is_withheld",
    "secrets_of", "stored",
]  # fmt: skip

RULES = "edgetape/redaction/4"
_MEMO_MAX = 512
_MEMO_BYTES_MAX = 4096

type _Place = tuple[bytes | str, bytes, bool]

_UNKNOWN = Content()


@dataclass(slots=True)
class Redactor:
    """Applies the rules to one run. `known` are secrets that its agent holds; `allowed` names further request headers
    (in lower case) whose values may be kept.
    """

    known: Iterable[str] = ()
    allowed: frozenset[str] = frozenset()
    secrets: Known = field(init=False, repr=False)
    _memo: dict[_Place, Redacted] = field(default_factory=dict, repr=False)
    _memo_version: int = 0

    def __post_init__(self) -> None:
        self.secrets = Known(self.known)

    def plain(self, raw: bytes | str) -> Redacted:
        """Text in which nothing is secret by its place: what looks like a secret, or is known as one, is taken out."""
        content = raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else raw
        return self._again(("plain", content, False), lambda: self._without(content, self._read(content)))

    def header(self, name: bytes, value: bytes, *, response: bool = False) -> Redacted:
        """The value of a header field. A scheme (`Bearer`), and a cookie's name and attributes, stay readable."""
        return self._again((name, value, response), lambda: self._header(name, value, response=response))

    def query(self, raw: bytes) -> Redacted:
        """A query string without its `?`: the values of names that carry keys are replaced, and whatever looks like
        a secret or is known to be one; the rest stays byte for byte.
        """

        def read() -> Redacted:
            named = (span for span in fields.pairs(raw, "query") if span is not None)
            return self._without(raw, [*named, *self._read(raw)])

        return self._again(("query", raw, False), read)

    def path(self, raw: bytes) -> Redacted:
        """The path of a URL, in which some services put their keys."""
        tokens = addresses.path_token(raw, 0, len(raw))
        return self._again(("path", raw, False), lambda: self._without(raw, [*tokens, *self._read(raw)]))

    def body(self, raw: bytes, about: Content = _UNKNOWN) -> Redacted:
        """A body as it crossed the wire, `about` telling what it is."""
        return drained(self.body_steps(raw, about))

    def body_steps(self, raw: bytes, about: Content = _UNKNOWN) -> Generator[None, None, Redacted]:
        """The same in steps, for whoever must not be held up."""
        return bodies.redacted(raw, about, self.secrets)

    def long_steps(
        self, raw: Pieces, size: int, about: Content, keep: Callable[[], Keep]
    ) -> Generator[None, None, Redacted | Long]:
        """The same of a body that is not held: `raw()` gives its `size` bytes; what has to be changed of it goes into
        what `keep` makes.
        """
        return long.redacted(raw, size, about, self.secrets, keep)

    def stream(self, about: Content, *, readable: bool = True) -> Stream:
        """A body that comes in pieces, of which each may be stored as it comes; one in a content coding only where
        whoever reads it later is told that the coding is undone (`readable`).
        """
        return Stream(about, self.secrets, readable=readable)

    @staticmethod
    def endpoint(method: str, host: str, path: bytes, fields_: Sequence[tuple[bytes, bytes]]) -> str:
        """The class of an endpoint that hands out credentials; "" for all others."""
        return endpoints.kind(method, host.lower().rstrip("."), path, fields_)

    def _header(self, name: bytes, value: bytes, *, response: bool) -> Redacted:
        lower = name.decode("latin-1").lower()
        found = headers.find(lower, value, response=response, allowed=self.allowed)
        known = self._without(value, [*found, *self.secrets.search(value, 0, len(value))])
        for password in headers.passwords(value) if lower.endswith("authorization") else ():
            self.secrets.learn(password)
        return known

    def _again(self, key: _Place, read: Callable[[], Redacted]) -> Redacted:
        """What was read before, if nothing was learned since: the same fields and addresses come with every request."""
        if len(key[1]) > _MEMO_BYTES_MAX:
            return read()
        if self._memo_version != self.secrets.version or len(self._memo) > _MEMO_MAX:
            self._memo.clear()
            self._memo_version = self.secrets.version
        known = self._memo.get(key)
        if known is None:
            known = self._memo[key] = read()
        return known

    def _read(self, content: bytes) -> Iterator[Span]:
        for start, stop in texts.windows(len(content)):
            yield from texts.find(content, start, stop)
            found = self.secrets.search(content, start, stop)
            yield from (span for span in found if not bodies.in_mark(content, span))

    def _without(self, content: bytes, found: Iterable[Span]) -> Redacted:
        return without(content, found, self.secrets, len(content))
