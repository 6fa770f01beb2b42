"""A time stamp authority (RFC 3161) for tests: `openssl ts` behind a small HTTP server on a thread.

`with stamping(folder) as authority:` makes root, certificate and serial numbers in `folder`; `authority.url` answers,
`authority.root` is the PEM file that verifiers trust, `authority.answer` changes what it says to the next requests.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.desk import Reply, serving

_CONFIGURATION = """\
[ req ]
distinguished_name = name
[ name ]
[ root ]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[ signer ]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[ tsa ]
default_tsa = only
[ only ]
dir = .
serial = ./serial
crypto_device = builtin
signer_cert = ./signer.pem
signer_key = ./signer.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""

type Behaviour = Callable[["TimeAuthority", bytes], Reply]


class TimeAuthority:
    """Signs what it is asked for; `asked` are the queries that came."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root.pem"
        self.url = ""
        self.asked: list[bytes] = []
        self.answer: Behaviour = granted
        self._serials = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ts.cnf").write_text(_CONFIGURATION)
        (folder / "serial").write_text("01\n")
        self._make_certificates()

    def reply(self, query: bytes) -> bytes:
        """The TimeStampResp for a TimeStampReq."""
        with self._serials:
            (self.folder / "query.tsq").write_bytes(query)
            self._openssl("ts", "-reply", "-config", "ts.cnf", "-queryfile", "query.tsq", "-out", "reply.tsr")
            return (self.folder / "reply.tsr").read_bytes()

    def stamp(self, content: bytes, digest: str = "sha256") -> bytes:
        """A time stamp over `content`, without anybody having asked."""
        (self.folder / "content").write_bytes(content)
        self._openssl("ts", "-query", "-data", "content", f"-{digest}", "-cert", "-out", "own.tsq")
        return self.reply((self.folder / "own.tsq").read_bytes())

    def _make_certificates(self) -> None:
        subject = f"/CN={self.folder.name}"
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config", "ts.cnf")
        root = ("-extensions", "root", "-days", "9", "-subj", f"{subject} root")
        self._openssl("req", "-x509", *new, "-keyout", "root.key", "-out", "root.pem", *root)
        self._openssl("req", *new, "-keyout", "signer.key", "-out", "signer.csr", "-subj", f"{subject} signer")
        issued = ("-extfile", "ts.cnf", "-extensions", "signer", "-days", "9", "-set_serial", "7")
        authority = ("-CA", "root.pem", "-CAkey", "root.key")
        self._openssl("x509", "-req", "-in", "signer.csr", *authority, *issued, "-out", "signer.pem")

    def _openssl(self, *arguments: str) -> None:
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, timeout=30, check=False)
        if done.returncode:
            raise RuntimeError(f"openssl {' '.join(arguments)}: {done.stderr.decode()}")


def granted(authority: TimeAuthority, query: bytes) -> Reply:
    """What an honest authority answers."""
    return 200, "application/timestamp-reply", authority.reply(query)


@contextmanager
def stamping(folder: Path) -> Iterator[TimeAuthority]:
    """An authority that answers on a free port while the block lasts."""
    authority = TimeAuthority(folder)

    def answer(_: str, query: bytes) -> Reply:
        authority.asked.append(query)
        return authority.answer(authority, query)

    with serving(answer) as url:
        authority.url = f"{url}/tsa"
        yield authority
