"""Certificates as values: our own authority and the leaves it signs, all fit for OpenSSL's X509_STRICT.

Nothing here touches a disk or a clock; the caller brings keys and times.

- An authority is valid from 2015 for 30 years, so that a replay under a recorded clock still trusts it.
- A leaf never carries the authority's key: a key that leaks from a server process signs nothing.
- A serial number is derived from what the certificate says, so two different leaves never share one.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from store.core.errors import EdgetapeError

AUTHORITY_NOT_BEFORE = datetime(2015, 1, 1, tzinfo=UTC)
AUTHORITY_NOT_AFTER = datetime(2045, 1, 1, tzinfo=UTC)
COMMON_NAME_CHARS_MAX = 64  # ub-common-name of RFC 5280, appendix A
DNS_NAME_CHARS_MAX = 253  # RFC 1035, section 2.3.4, as text


class BadHost(EdgetapeError):
    """A host that no certificate can name."""


@dataclass(frozen=True, slots=True)
class LeafTerms:
    """The span that a leaf is valid for; both ends aware, `not_before` before `not_after`."""

    not_before: datetime
    not_after: datetime

    @classmethod
    def around(cls, recorded: datetime, now: datetime) -> "LeafTerms":
        """The span that holds at the time of the recording and today: two days before, thirty days after."""
        return cls(min(recorded, now) - timedelta(days=2), max(recorded, now) + timedelta(days=30))


def new_authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    """A self-signed authority for `key` that may sign leaves and nothing else (RFC 5280, section 4.2.1)."""
    skid = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    # The key's own digest in the name keeps two authorities apart in a trust store that looks up by name.
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "edgetape"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"edgetape authority {skid.digest.hex()[:12]}"),
        ]
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(_serial(skid.digest))
        .not_valid_before(AUTHORITY_NOT_BEFORE)
        .not_valid_after(AUTHORITY_NOT_AFTER)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(skid, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(skid), critical=False)
    )
    return builder.sign(key, hashes.SHA256())


def mint_leaf(
    authority_key: ec.EllipticCurvePrivateKey,
    authority_certificate: x509.Certificate,
    host: str,
    terms: LeafTerms,
    leaf_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    """A server certificate for `host`, signed by the authority.

    `host` is a DNS name in any case and script (stored as its A-label), an IPv4 address, or an IPv6 address with or
    without brackets and zone. It stands in subjectAltName (RFC 6125), in the common name only where it fits.
    `leaf_key` is the server process's own and must not be the authority's. Raises BadHost.
    """
    san = _general_name(host)
    public = leaf_key.public_key()
    issuer_skid = authority_certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    spki = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    said = f"{san.value}|{terms.not_before.isoformat()}|{terms.not_after.isoformat()}|".encode()
    builder = (
        x509.CertificateBuilder()
        .subject_name(_leaf_name(str(san.value)))
        .issuer_name(authority_certificate.subject)
        .public_key(public)
        .serial_number(_serial(issuer_skid.digest + said + spki))
        .not_valid_before(terms.not_before)
        .not_valid_after(terms.not_after)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([san]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_skid), critical=False)
    )
    return builder.sign(authority_key, hashes.SHA256())


def _general_name(host: str) -> x509.DNSName | x509.IPAddress:
    """The subjectAltName entry for a host as a client would compare it."""
    address = _as_address(host)
    if address is not None:
        return x509.IPAddress(address)
    try:
        # The codec follows IDNA 2003; A-labels, which is what clients send, pass through it unchanged.
        name = host.rstrip(".") if host.isascii() else host.rstrip(".").encode("idna").decode("ascii")
    except UnicodeError as error:
        raise BadHost(f"no certificate can be made for the host {host!r}: {error}") from error
    if not 0 < len(name) <= DNS_NAME_CHARS_MAX or any(character <= " " for character in name):
        raise BadHost(f"no certificate can be made for the host {host[:80]!r}: it is not a DNS name or an address")
    return x509.DNSName(name.lower())


def _as_address(host: str) -> IPv4Address | IPv6Address | None:
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return address


def _leaf_name(host: str) -> x509.Name:
    """A subject that is never empty: else subjectAltName would be critical, which old clients refuse."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "edgetape")]
    if len(host) <= COMMON_NAME_CHARS_MAX:
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, host))
    return x509.Name(attributes)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _serial(said: bytes) -> int:
    """A positive serial of at most 16 octets (RFC 5280, section 4.1.2.2 allows 20)."""
    return int.from_bytes(sha256(b"edgetape/serial\0" + said).digest()[:16]) >> 1 | 1
