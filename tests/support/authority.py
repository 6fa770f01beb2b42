"""A certificate authority for tests that writes server certificates to files.

The certificates are real ones made by trustme; they live only under the folder that the caller names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme

LOOPBACK_NAMES = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """One server certificate: its chain and its key, both PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """A root that signs server certificates; `root` is the PEM file that a client is to trust."""

    root: Path
    folder: Path
    issuer: trustme.CA

    def issue(self, *names: str) -> ServerCertificate:
        """Write a certificate for these host names or addresses (default: the loopback ones)."""
        names = names or LOOPBACK_NAMES
        leaf = self.issuer.issue_cert(*names)
        stem = names[0].replace("*", "any")
        certificate, key = self.folder / f"{stem}.pem", self.folder / f"{stem}-key.pem"
        certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        key.touch(mode=0o600)
        key.write_bytes(leaf.private_key_pem.bytes())
        return ServerCertificate(certificate, key)


def make_authority(folder: Path) -> Authority:
    """Make a new authority whose files lie in `folder` (made when absent, readable by its owner only)."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    issuer = trustme.CA(key_type=trustme.KeyType.ECDSA)
    root = folder / "root.pem"
    issuer.cert_pem.write_to_path(str(root))
    return Authority(root, folder, issuer)
