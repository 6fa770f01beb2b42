"""TLS contexts for the hosts that an agent connects to: leaves of edgetape's authority with this process's own key.

Rules kept here:
- The leaf is for the name that the client asks for (SNI, RFC 6066), else for the host of its CONNECT.
- It is valid when the run was recorded and today, so a replay under a recorded clock still trusts it.
- ALPN offers HTTP/1.1 only (RFC 7301).
"""

import ssl
import tempfile
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from store.authority import Authority
from store.certificate import BadHost, LeafTerms

HOSTS_MAX = 4096


class Certificates:
    """Makes and keeps the contexts of one replay server."""

    def __init__(self, authority: Authority, recorded: datetime, now: datetime) -> None:
        self._authority = authority
        self.terms = LeafTerms.around(recorded, now)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.context: Callable[[str], ssl.SSLContext] = lru_cache(HOSTS_MAX)(self._make)

    def _make(self, host: str) -> ssl.SSLContext:
        """The server context for `host`. Raises BadHost for a name that no certificate can carry."""
        leaf = self._authority.mint(host, self.terms, self.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.sni_callback = self._choose
        key = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        chain = leaf.public_bytes(serialization.Encoding.PEM) + self._authority.certificate_pem
        # The ssl module reads a key from a file only; this one is readable by us alone and gone at once.
        with tempfile.TemporaryDirectory(prefix="edgetape-leaf-") as folder:
            path = Path(folder) / "leaf.pem"
            path.touch(mode=0o600)
            path.write_bytes(key + chain)
            context.load_cert_chain(path)
        return context

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> int | None:
        if name:
            try:
                connection.context = self.context(name.lower())
            except BadHost:
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        return None
