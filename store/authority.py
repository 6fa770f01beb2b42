"""edgetape's own certificate authority on disk: made once, shared by all commands, never replaced.

The folder (0700) holds two files, made together by one rename or not at all:

- `mitmproxy-ca.pem` (0600): private key and certificate in one file, where mitmproxy looks inside its confdir
- `edgetape-ca.pem` (0644): the certificate alone, which clients are told to trust
"""

import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from store.certificate import LeafTerms, mint_leaf, new_authority
from store.core.errors import EdgetapeError

KEY_AND_CERTIFICATE_FILE = "mitmproxy-ca.pem"
CERTIFICATE_FILE = "edgetape-ca.pem"
_OTHERS = stat.S_IWGRP | stat.S_IRWXO


class AuthorityError(EdgetapeError):
    """The certificate authority cannot be made, or what lies in its folder is not one."""


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority that was read and checked; `folder` serves as mitmproxy's confdir."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def open_or_create(cls, folder: Path) -> "Authority":
        """The authority in `folder`, made on first use; two processes at once end with the same one.

        Raises AuthorityError when the folder holds half an authority, a damaged one, or one open to others.
        """
        try:
            if not _is_absent(folder):
                return cls._open(folder)
            _create(folder)
            return cls._open(folder)
        except OSError as error:
            raise AuthorityError(
                f"the certificate authority in {folder} cannot be read or made: {error.strerror}",
                hint="check the permissions of the folder and the space on its disk",
            ) from error

    @classmethod
    def _open(cls, folder: Path) -> "Authority":
        key_path, certificate_path = folder / KEY_AND_CERTIFICATE_FILE, folder / CERTIFICATE_FILE
        for path in (key_path, certificate_path):
            if not path.is_file():
                raise _unusable(folder, f"{path.name} is missing")
        if key_path.stat().st_mode & _OTHERS:
            raise AuthorityError(
                f"others may read or change the private key of the certificate authority: {key_path}",
                hint=f"if nobody used it, run: chmod 600 '{key_path}'; "
                f"otherwise remove {folder}: the next command makes a new authority",
            )
        key, certificate = _parse(folder, key_path.read_bytes())
        if certificate_path.read_bytes() != certificate.public_bytes(serialization.Encoding.PEM):
            raise _unusable(folder, f"{CERTIFICATE_FILE} and {KEY_AND_CERTIFICATE_FILE} hold different certificates")
        return cls(folder, key, certificate)

    @property
    def certificate_path(self) -> Path:
        """The certificate alone, in PEM: what a client is told to trust."""
        return self.folder / CERTIFICATE_FILE

    @property
    def key_and_certificate_path(self) -> Path:
        """Key and certificate in one PEM file, as mitmproxy reads them from its confdir."""
        return self.folder / KEY_AND_CERTIFICATE_FILE

    @property
    def certificate_pem(self) -> bytes:
        """The certificate in PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def mint(self, host: str, terms: LeafTerms, leaf_key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        """A server certificate for `host` (see `store.certificate.mint_leaf`)."""
        return mint_leaf(self.key, self.certificate, host, terms, leaf_key)


def _is_absent(folder: Path) -> bool:
    """Whether nothing is there yet; a folder that somebody made and left empty counts as nothing."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def _create(folder: Path) -> None:
    """Makes both files in a neighbouring folder and renames it into place; the first to rename wins."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = new_authority(key).public_bytes(serialization.Encoding.PEM)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))  # mkdtemp makes it 0700
    try:
        _write(draft / KEY_AND_CERTIFICATE_FILE, _key_pem(key) + certificate, 0o600)
        _write(draft / CERTIFICATE_FILE, certificate, 0o644)
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        if _is_absent(folder):
            raise  # nobody else made one meanwhile, so the failure is ours


def _write(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _parse(folder: Path, pem: bytes) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """Key and certificate of one PEM file, checked to belong together and to be an authority."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
        certificate = x509.load_pem_x509_certificate(pem)
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (ValueError, TypeError, x509.ExtensionNotFound) as error:
        raise _unusable(folder, f"{KEY_AND_CERTIFICATE_FILE} does not hold a key and a certificate") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise _unusable(folder, "its key is not an elliptic-curve key")
    if key.public_key() != certificate.public_key():
        raise _unusable(folder, "its key does not belong to its certificate")
    if not constraints.ca:
        raise _unusable(folder, "its certificate is not that of an authority")
    return key, certificate


def _unusable(folder: Path, reason: str) -> AuthorityError:
    return AuthorityError(
        f"the certificate authority in {folder} is damaged: {reason}",
        hint=f"restore the folder from a copy, or remove {folder}: the next command makes a new authority, "
        "and programs that trusted the old one must be told about it",
    )
