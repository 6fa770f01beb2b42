"""The roots that an agent is told to trust: the system's and the user's own, plus our authority.

A bundle never holds our authority alone: what is tunnelled unopened must still verify against the real roots.
"""

import os
import re
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

from store.core.errors import EdgetapeError
from store.output import drafted

USER_BUNDLE_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "AWS_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "NIX_SSL_CERT_FILE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
)
SYSTEM_BUNDLES = (
    Path("/etc/ssl/certs/ca-certificates.crt"),  # Debian, Ubuntu, Alpine, Arch
    Path("/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"),  # Fedora, RHEL
    Path("/etc/pki/tls/certs/ca-bundle.crt"),  # older RHEL
    Path("/etc/ssl/ca-bundle.pem"),  # SUSE
    Path("/etc/ssl/cert.pem"),  # macOS, the BSDs
)
_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")


class NoRoots(EdgetapeError):
    """No roots were found anywhere, or none where a person said that there are some."""


def roots(environment: Mapping[str, str]) -> list[bytes]:
    """Every root that the system and the user's variables name, one PEM certificate each, without repeats.

    Raises NoRoots.
    """
    seen: dict[bytes, bytes] = {}
    for path in [*_user_files(environment), *_system_files()]:
        _collect(path, seen)
    if not seen:
        _collect(_packaged_roots(), seen)
    if not seen:
        raise NoRoots(
            "no trusted root certificates were found on this system",
            hint="install the package ca-certificates, or point SSL_CERT_FILE at a bundle of roots",
        )
    return list(seen.values())


def server_roots(environment: Mapping[str, str], added: Path | None = None) -> bytes:
    """What a server's certificate may lead to, as PEM: `roots`, those that come with certifi, and the file `added`.

    Raises NoRoots.
    """
    seen = {pem: pem for pem in roots(environment)}
    _collect(_packaged_roots(), seen)
    given = b"" if added is None else _given(added)
    return b"\n".join([*seen.values(), given])


def write_bundle(path: Path, authority_pem: bytes, environment: Mapping[str, str]) -> None:
    """Writes all roots and our authority to `path`, at once or not at all. Raises NoRoots and OSError."""
    certificates = [pem for pem in roots(environment) if pem.strip() != authority_pem.strip()]
    content = b"\n".join([*certificates, authority_pem])
    with drafted(path) as draft:
        draft.write_bytes(content)
        draft.chmod(0o644)  # it holds nothing secret, and an agent may run as another user


def _given(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NoRoots(f"cannot read the roots in {path}: {error.strerror}") from error
    if b"BEGIN CERTIFICATE" not in content:
        raise NoRoots(f"{path} holds no certificate in PEM")
    return content


def _user_files(environment: Mapping[str, str]) -> Iterator[Path]:
    for variable in USER_BUNDLE_VARIABLES:
        if environment.get(variable):
            yield Path(environment[variable])
    for folder in filter(None, environment.get("SSL_CERT_DIR", "").split(os.pathsep)):
        yield from _files_in(Path(folder))


def _files_in(folder: Path) -> list[Path]:
    """The files of a folder of roots; a hashed one lists each root twice, which `roots` evens out."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []  # a variable that names no folder: its owner's client finds nothing there either


def _system_files() -> Iterator[Path]:
    default = ssl.get_default_verify_paths().openssl_cafile
    yield Path(default)
    yield from SYSTEM_BUNDLES


def _packaged_roots() -> Path:
    """The last resort: the roots that come with certifi, where it is installed."""
    try:
        import certifi
    except ImportError:
        return Path(os.devnull)
    return Path(certifi.where())


def _collect(path: Path, seen: dict[bytes, bytes]) -> None:
    """Adds the certificates of a file, told apart by their encoded bytes whatever their line breaks."""
    try:
        content = path.read_bytes()
    except OSError:
        return
    for block in _BLOCK.findall(content):
        seen.setdefault(b"".join(block.split()), block + b"\n")
