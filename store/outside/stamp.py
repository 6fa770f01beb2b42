"""The client of a time stamp authority: RFC 3161 over HTTP (its section 3.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from store.core.errors import EdgetapeError, Malformed
from store.outside import token
from store.outside.post import Way, host_of, post
from store.outside.token import TOKEN_BYTES_MAX, Authority, Token

_QUERY, _REPLY = "application/timestamp-query", "application/timestamp-reply"


class NotStamped(EdgetapeError):
    """An authority that gave no time stamp, or not the one that it was asked for."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time stamp as it came (DER), and what it says."""

    content: bytes
    token: Token


def stamp(url: str, note: bytes, trusted: Sequence[Authority], way: Way) -> Stamp:
    """A time stamp over a signed note; with `trusted`, signed by one of those.

    Raises NotStamped, Unreachable, token.Refused, token.Untrusted.
    """
    where = host_of(url)
    query, nonce = token.request(note)
    answer = post(url, query, _QUERY, TOKEN_BYTES_MAX, way)
    if answer.status != 200:
        raise NotStamped(f"the time stamp authority {where} answered with the status {answer.status}")
    if answer.kind != _REPLY:
        raise NotStamped(f"{where} answered with {answer.kind}, not with a time stamp", hint="is it the right address?")
    try:
        given = token.read(answer.body)
    except Malformed as error:
        raise NotStamped(f"what {where} answered is {error}") from None
    if given.hash_name != "sha256" or not given.is_of(note):
        raise NotStamped(f"the time stamp of {where} is for other data than it was asked for")
    if given.nonce != nonce:
        raise NotStamped(f"the time stamp of {where} has another nonce: it was made for somebody else, or before")
    if trusted:
        given.demand(trusted)
    return Stamp(answer.body, given)
