"""Who may write into which runs: tenants, each known by the SHA-256 of a token, read from a file.

# NAME TOKEN, or NAME sha256:HEX so that the file holds no token
research  sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b
billing   correct-horse-battery-staple
"""

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass

from store.core.errors import EdgetapeError

TOKEN_CHARACTERS_MIN = 16

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASHED = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE)


class BadTenants(EdgetapeError):
    """A token file that is not well formed."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """One who may record; `name` is empty where there is one only."""

    name: str
    digest: bytes

    @classmethod
    def of(cls, token: str, name: str = "") -> "Tenant":
        """The one who has this token."""
        return cls(name, digest(token))


def digest(token: str) -> bytes:
    """What is kept, and compared, of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def admitted(tenants: Iterable[Tenant], token: str) -> Tenant | None:
    """The tenant whose token it is. Takes as long whoever it is, and whoever it is not."""
    said, found = digest(token), None
    for tenant in tenants:
        if hmac.compare_digest(said, tenant.digest):
            found = tenant
    return found


def parsed(text: str) -> tuple[Tenant, ...]:
    """The tenants that a token file names. Raises BadTenants, which says the line and never the token."""
    tenants: list[Tenant] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        tenant = _tenant(words, number)
        if any(tenant.name == other.name or tenant.digest == other.digest for other in tenants):
            raise BadTenants(f"line {number}: {tenant.name} or its token is there twice", hint="each has one token")
        tenants.append(tenant)
    if not tenants:
        raise BadTenants("no tenant is named", hint="one a line: NAME TOKEN")
    return tuple(tenants)


def _tenant(words: list[str], number: int) -> Tenant:
    if len(words) != 2 or _NAME.fullmatch(words[0]) is None:
        raise BadTenants(f"line {number} is no name and token", hint="NAME TOKEN, or NAME sha256:HEX")
    name, token = words
    hashed = _HASHED.fullmatch(token)
    if hashed is not None:
        return Tenant(name, bytes.fromhex(hashed[1]))
    if len(token) < TOKEN_CHARACTERS_MIN:
        raise BadTenants(
            f"line {number}: the token of {name} has fewer than {TOKEN_CHARACTERS_MIN} characters",
            hint="python3 -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    return Tenant.of(token, name)
