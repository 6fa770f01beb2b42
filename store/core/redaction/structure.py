"""What an endpoint says that hands out credentials, with every string taken out but those that clients must read.

Kept are numbers, names of members, times, and a short list of words of the protocols (`Bearer`, `invalid_grant`): a
client that got a stand-in for those would break where the recorded one did not.
"""

import re
from collections.abc import Iterator

from store.core.redaction import fields
from store.core.redaction.likeness import is_random
from store.core.redaction.marks import MARK
from store.core.redaction.spans import Span
from store.core.redaction.values import string_end, unescaped

_TIME = re.compile(rb"\d{4}-\d\d-\d\d([T ][\d:.]+(Z|[+-]\d\d:?\d\d)?)?|\d{1,20}")
_WORDS = re.compile(
    rb"bearer|mac|dpop|n_a|success|aws-hmac|true|false|authorization_code|refresh_token|client_credentials|password"
    rb"|urn:ietf:params:oauth:[a-z0-9:._-]+|https?://(?:www\.)?[a-z0-9.-]+/auth/[a-z0-9._/-]+|s256|plain|slow_down"
    rb"|(?:invalid|unauthorized|unsupported|access|authorization|expired|temporarily)_[a-z_]+|openid|profile|email"
    rb"|offline_access|assumerole\w*|getcalleridentity|2011-06-15",
    re.IGNORECASE,
)
_XML_TEXT = re.compile(rb">([^<>]{1,65536})<")
_COLON = re.compile(rb'"\s*:')
_PLAIN_WORDS = re.compile(rb"[\s\w./:-]{0,64}")


def find(content: bytes, media_type: str, kind: str) -> Iterator[Span]:
    """Every string of a body that an endpoint of class `kind` took or gave."""
    begin = content[:64].lstrip()
    if begin.startswith((b"{", b"[")):
        yield from _json(content, kind)
    elif begin.startswith(b"<"):
        yield from _xml(content, kind)
    elif media_type == fields.FORM:
        for span in fields.every_pair(content):
            if not _WORDS.fullmatch(span.secret) and not MARK.fullmatch(span.secret):
                yield Span(span.start, span.end, kind, span.secret, learn=span.learn)
    elif content.strip() and not (_PLAIN_WORDS.fullmatch(content) and not is_random(content.strip())):
        yield Span(0, len(content), kind, content, learn=is_random(content.strip()))


def _json(content: bytes, kind: str) -> Iterator[Span]:
    opening = content.find(b'"')
    while opening >= 0:
        start = opening + 1
        end = string_end(content, start, 0)
        value = unescaped(content[start:end])
        is_name = _COLON.match(content, end) is not None
        if not is_name and not _is_kept(value):
            yield Span(start, end, kind, value, learn=is_random(value))
        opening = content.find(b'"', end + 1)


def _xml(content: bytes, kind: str) -> Iterator[Span]:
    for found in _XML_TEXT.finditer(content):
        if found[1].strip() and not _is_kept(found[1]):
            yield Span(found.start(1), found.end(1), kind, found[1], learn=is_random(found[1]))


def _is_kept(value: bytes) -> bool:
    if MARK.fullmatch(value) or _TIME.fullmatch(value):
        return True
    return len(value) <= 512 and all(map(_WORDS.fullmatch, value.split()))
