"""Secrets in URLs, wherever a URL stands in a text: user information, keys in a query, tokens in a path.

The path tokens are those that services hand out as addresses: bots of Telegram, webhooks of Slack, Discord, Teams and
Zapier. A pre-signed URL is one by its signature.
"""

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from store.core.redaction.likeness import is_random
from store.core.redaction.marks import is_mark
from store.core.redaction.names import is_credential_field, may_be_credential_field
from store.core.redaction.spans import Span

_USERINFO = re.compile(rb"://(?:([^\s/?#\"'<>\\@:]{1,256}):)?([^\s/?#\"'<>\\@:]{1,512})@")
_PARAMETER = re.compile(rb"[?&;]((?:amp;)?[A-Za-z0-9_.%-]{1,48})=([^\s&#\"'<>\\;]{1,8192})")
_TOKENS = (
    re.compile(rb"/bot(\d{6,12}(?::|%3[Aa])[A-Za-z0-9_-]{20,64})"),
    re.compile(rb"/(?:api/)?webhooks/\d{5,24}/([A-Za-z0-9_-]{20,128})"),
    re.compile(rb"/services/T[A-Z0-9]{2,16}/B[A-Z0-9]{2,16}/([A-Za-z0-9]{16,64})"),
    re.compile(rb"/(?:workflows|triggers)/T?[A-Z0-9]{2,16}/A?[A-Z0-9]{2,24}/\d{5,24}/([A-Za-z0-9]{16,64})"),
    re.compile(rb"/webhookb2/([A-Za-z0-9@/-]{36,256})"),
    re.compile(rb"/hooks/catch/\d{3,12}/([A-Za-z0-9]{5,32})"),
)
# The words that each of the above needs, so that most text is never looked at twice.
PATH_HINTS = (b"/bot", b"hook")
QUERY_HINTS = (b"ignature=", b"sig=", b"code=", b"key=", b"oken=", b"ecret=", b"redential=", b"Id=")


def userinfo(content: bytes, place: int) -> Span | None:
    """The password, or the lone token, of the user information of the URL whose `://` stands at `place`."""
    found = _USERINFO.match(content, place)
    if found is None:
        return None
    start, end = found.span(2)
    if is_mark(found[2]) or found[2][:1] in (b"$", b"{", b"%", b"*") or (found[1] is None and not is_random(found[2])):
        return None
    return Span(start, end, "userinfo", unquote_to_bytes(found[2]), learn=True)


def path_token(content: bytes, start: int, stop: int) -> Iterator[Span]:
    """The tokens in paths that stand between `start` and `stop`."""
    for pattern in _TOKENS:
        for found in pattern.finditer(content, start, stop):
            yield Span(found.start(1), found.end(1), "path", found[1], learn=True)


def parameter(content: bytes, place: int) -> Span | None:
    """The value of the query parameter whose name ends at, or shortly after, `place`, if it is a key."""
    start = max(content.rfind(mark, max(0, place - 48), place) for mark in (b"?", b"&", b";"))
    found = _PARAMETER.match(content, start) if start >= 0 else None
    if found is None or found.start(2) < place:
        return None
    name, value = found[1].removeprefix(b"amp;"), found[2]
    if is_mark(value) or not (is_credential_field(name) or may_be_credential_field(name)) or not is_random(value, 16):
        return None
    return Span(found.start(2), found.end(2), "query", unquote_to_bytes(value), learn=True)
