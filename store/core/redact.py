"""The first redaction: what a request proves itself with never reaches the store.

Rules kept here:
- A secret is replaced by `<edgetape:CLASS:k>`, k counting the distinct secrets of its class in the run from 1: so
  matching can still tell two secrets apart without holding either.
- Recording and replay apply the same rules, so a rotated key never misses.
- The store takes only `Redacted` values; this module alone makes them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

RULES = "edgetape/redaction/1"

_CREDENTIAL = re.compile(
    r"(^|[-_])(authorization|cookies?|credentials?|passw(or)?d|secrets?|signature|tokens?|api[-_]?key|apikey"
    r"|access[-_]?key|subscription[-_]key|auth[-_]?key|key)($|[-_])",
    re.IGNORECASE,
)
_HARMLESS = frozenset(
    ("idempotency-key", "x-idempotency-key", "sec-websocket-key", "surrogate-key", "max_tokens", "token_type")
)
_CREDENTIAL_QUERY = re.compile(
    rb"(api[-_]?key|apikey|key|(access|refresh|id|auth)?[-_]?token|sig(nature)?|password|passwd|client[-_]secret|secret"
    rb"|auth|x-amz-(signature|credential|security-token)|x-goog-(signature|credential))",
    re.IGNORECASE,
)
_SCHEME = re.compile(rb"(basic|bearer|digest|negotiate|token|apikey|aws4-hmac-sha256)(\s+)", re.IGNORECASE)
_KNOWN_BYTES_MIN = 8


@dataclass(frozen=True, slots=True)
class Redacted:
    """Bytes that may be stored.

    `marks` counts what was replaced, by class; `wire_bytes` is the length before.
    """

    content: bytes
    wire_bytes: int
    marks: tuple[tuple[str, int], ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the bytes are those of the wire."""
        return not self.marks


@dataclass(slots=True)
class Redactor:
    """Applies the rules to one run, remembering its secrets only to number them."""

    known: Iterable[str] = ()
    _numbers: dict[tuple[str, bytes], int] = field(default_factory=dict)

    def plain(self, raw: bytes | str) -> Redacted:
        """Text in which nothing is secret by its place; secrets that the agent's environment holds are taken out."""
        content = raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else raw
        redacted, count = content, 0
        for secret in self._known_secrets():
            count += redacted.count(secret)
            redacted = redacted.replace(secret, self._mark("environment", secret))
        return Redacted(redacted, len(content), (("environment", count),) if count else ())

    def body(self, raw: bytes) -> Redacted:
        """A body, as it crossed the wire: its rules come with the evidence work; the type is their place."""
        return Redacted(raw, len(raw))

    def header(self, name: bytes, value: bytes, *, response: bool = False) -> Redacted:
        """The value of a header field. A scheme (`Bearer`), and a cookie's name and attributes, stay readable."""
        lower = name.decode("latin-1").lower()
        if response:
            return self._set_cookie(value) if lower in ("set-cookie", "set-cookie2") else Redacted(value, len(value))
        if not is_credential_name(lower):
            return self.plain(value)
        kind = lower if lower in ("cookie", "authorization", "proxy-authorization") else "key"
        scheme = _SCHEME.match(value)
        start = scheme.end() if scheme and kind != "cookie" else 0
        return Redacted(value[:start] + self._mark(kind, value[start:]), len(value), ((kind, 1),))

    def query(self, raw: bytes) -> Redacted:
        """A query string without its `?`: the values of names that carry keys are replaced, the rest stays as sent."""
        parts, count = [], 0
        for part in raw.split(b"&"):
            name, equals, value = part.partition(b"=")
            if equals and value and _CREDENTIAL_QUERY.fullmatch(name):
                parts.append(name + equals + self._mark("query", value))
                count += 1
            else:
                parts.append(part)
        marks = (("query", count),) if count else ()
        return Redacted(b"&".join(parts), len(raw), marks)

    def _set_cookie(self, value: bytes) -> Redacted:
        pair, separator, attributes = value.partition(b";")
        name, equals, secret = pair.partition(b"=")
        if not secret:
            return Redacted(value, len(value))
        return Redacted(
            name + equals + self._mark("cookie", secret) + separator + attributes, len(value), (("cookie", 1),)
        )

    def _mark(self, kind: str, secret: bytes) -> bytes:
        number = self._numbers.get((kind, secret))
        if number is None:
            number = 1 + sum(1 for known_kind, _ in self._numbers if known_kind == kind)
            self._numbers[kind, secret] = number
        return f"<edgetape:{kind}:{number}>".encode()

    def _known_secrets(self) -> list[bytes]:
        return [secret.encode() for secret in self.known if len(secret) >= _KNOWN_BYTES_MIN]


def stored(content: bytes) -> Redacted:
    """Bytes that were redacted before: they come out of the store, or the recorder made them itself."""
    return Redacted(content, len(content))


def is_credential_name(name: str) -> bool:
    """Whether a header or an environment variable of this name carries a credential."""
    return name.lower() not in _HARMLESS and bool(_CREDENTIAL.search(name))


def credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment whose names say that they carry a credential."""
    return {name: value for name, value in environment.items() if value and is_credential_name(name)}
