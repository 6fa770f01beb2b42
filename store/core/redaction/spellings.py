"""How a known secret may be spelled in a body: as it is, in JSON, in a URL, in base64 at any place, in hex."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import quote_from_bytes, quote_plus

from store.core.redaction import stretches

_ESCAPED = re.compile(rb"%[0-9A-F]{2}")


@dataclass(frozen=True, slots=True)
class Needle:
    """Bytes to look for; `before` and `after` are how many bytes next to them hold a part of the secret, too.
    `padded` says that the equals signs which may follow belong to it; `core` is what of them a stretch must hold.
    """

    raw: bytes
    before: int = 0
    after: int = 0
    padded: bool = False
    core: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "core", stretches.core(self.raw))


def needles(secret: bytes) -> tuple[Needle, ...]:
    """Every spelling of a secret of 8 bytes or more, each once."""
    found = {raw: Needle(raw) for raw in (*_plain(secret), *_in_urls(secret), secret.hex().encode())}
    found |= {raw: Needle(raw) for raw in (secret.hex().upper().encode(),)}
    for needle in _in_base64(secret):
        for raw in _alphabets(needle.raw):
            found.setdefault(raw, replace(needle, raw=raw))
    return tuple(found.values())


def _plain(secret: bytes) -> Iterator[bytes]:
    yield secret
    text = secret.decode("utf-8", "surrogateescape")
    for ascii_only in (True, False):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        for once in (escaped, escaped.replace("/", "\\/")):
            yield once.encode("utf-8", "surrogateescape")
            yield json.dumps(once)[1:-1].encode("utf-8", "surrogateescape")


def _in_urls(secret: bytes) -> Iterator[bytes]:
    """Percent-encoding, in its usual dialects (RFC 3986, section 2.1; HTML forms write a space as a plus)."""
    for safe in ("", "/", "/:@"):
        quoted = quote_from_bytes(secret, safe=safe).encode()
        yield quoted
        yield _ESCAPED.sub(lambda found: found[0].lower(), quoted)
    yield quote_plus(secret).encode()


def _in_base64(secret: bytes) -> Iterator[Needle]:
    """What a secret becomes within something longer that is encoded (RFC 4648): one text for each place modulo 3.

    The characters at either end that hold bits of the secret and of its neighbours belong to no needle.
    """
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + secret)
        bits = 8 * (offset + len(secret))
        first, last = -(-8 * offset // 6), bits // 6
        yield Needle(encoded[first:last], int(offset > 0), int(bits % 6 > 0), padded=True)


def _alphabets(raw: bytes) -> Iterator[bytes]:
    yield raw
    yield raw.translate(bytes.maketrans(b"+/", b"-_"))
    yield raw.replace(b"/", b"\\/")
    yield raw.replace(b"+", b"%2B").replace(b"/", b"%2F")
