"""Time stamps of RFC 3161: asking for one, reading what came, and whether a trusted authority signed it.

The one place that knows rfc3161-client. A time stamp is kept as a whole TimeStampResp (DER): `openssl ts` takes that.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    TimeStampResponse,
    VerificationError,
    Verifier,
    VerifierBuilder,
    decode_timestamp_response,
)

from store.core.errors import EdgetapeError, Malformed

TOKEN_BYTES_MAX = 65_536
_GRANTED = 0
# What a time stamp may be over; the client itself asks for SHA-256.
_HASHES = {
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}


class Untrusted(EdgetapeError):
    """A time stamp that no authority which the verifier trusts has signed."""


class Refused(EdgetapeError):
    """An authority that gave no time stamp, in its own words."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Whom a verifier trusts to tell the time: roots that its certificate leads to.

    With `certificate` that very one must have signed, with `policy` (an OID, dotted) under that policy.
    """

    roots: tuple[x509.Certificate, ...]
    certificate: x509.Certificate | None = None
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A time stamp as it says itself, not yet verified: when, how exactly, over what."""

    time: datetime
    accuracy: timedelta
    hash_name: str
    imprint: bytes
    nonce: int | None
    _response: TimeStampResponse

    def is_of(self, content: bytes) -> bool:
        """Whether it is over this content."""
        return hashlib.new(self.hash_name, content).digest() == self.imprint

    @property
    def earliest(self) -> datetime:
        """What carries its digest is younger than this."""
        return self.time - self.accuracy

    @property
    def latest(self) -> datetime:
        """What it is over is older than this; a time without a fraction may stand for all of its second."""
        return self.time + self.accuracy + timedelta(seconds=0 if self.time.microsecond else 1)

    def demand(self, authorities: Sequence[Authority]) -> None:
        """Raises Untrusted unless one of these has signed it, with a certificate that was valid then."""
        reasons = []
        for each in authorities:
            try:
                _verifier(each).verify(self._response, self.imprint)
            except (VerificationError, ValueError, x509.ExtensionNotFound) as error:
                reasons.append(" ".join(str(error).split())[:200])
            else:
                return
        raise Untrusted(reasons[-1] if reasons else "no authority is trusted")


def request(content: bytes) -> tuple[bytes, int]:
    """A request for a time stamp over the SHA-256 of `content`, with the authority's certificate; and its nonce."""
    made = TimestampRequestBuilder().data(content).hash_algorithm(HashAlgorithm.SHA256).cert_request(cert_request=True)
    query = made.nonce(nonce=True).build()
    assert query.nonce is not None
    return query.as_bytes(), query.nonce


def read(raw: bytes) -> Token:
    """What a TimeStampResp says. Raises Malformed, and Refused where the authority gave no time stamp."""
    if len(raw) > TOKEN_BYTES_MAX:
        raise Malformed(f"a time stamp of {len(raw)} bytes is above the limit of {TOKEN_BYTES_MAX}")
    try:
        response = decode_timestamp_response(raw)
    except ValueError as error:
        raise Malformed(f"not a time stamp: {' '.join(str(error).split())[:200]}") from None
    if response.status != _GRANTED:
        words = ", ".join(response.status_string) or f"status {response.status}"
        raise Refused(f"the authority gave no time stamp: {words[:200]!r}")
    try:
        return _told(response)
    except (ValueError, OverflowError) as error:
        raise Malformed(f"not a time stamp: {' '.join(str(error).split())[:200]}") from None


def certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates of a PEM file. Raises Malformed when there is none."""
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError as error:
        raise Malformed(f"no certificate in PEM form: {error}") from None


def _told(response: TimeStampResponse) -> Token:
    info = response.tst_info
    hash_name = _HASHES.get(info.message_imprint.hash_algorithm.dotted_string)
    if hash_name is None:
        raise Malformed("not a time stamp over SHA-256, SHA-384 or SHA-512")
    exact = info.accuracy
    accuracy = timedelta()
    if exact is not None:
        accuracy = timedelta(seconds=exact.seconds or 0, milliseconds=exact.millis or 0, microseconds=exact.micros or 0)
    return Token(info.gen_time.astimezone(UTC), accuracy, hash_name, info.message_imprint.message, info.nonce, response)


def _verifier(trusted: Authority) -> Verifier:
    return VerifierBuilder(
        policy_id=None if trusted.policy is None else x509.ObjectIdentifier(trusted.policy),
        tsa_certificate=trusted.certificate,
        roots=list(trusted.roots),
    ).build()
