"""The files that make clients obey where no variable can: wget, PHP, Java; and what is loaded into Node and Python."""

import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from proxy.agent.environment import TRUST_STORE_PASSWORD, ClientFiles
from store.core.errors import EdgetapeError
from store.output import drafted

_PRELOAD = Path(__file__).parent / "preload"
_NODE, _PYTHON = Path("node", "proxy.cjs"), Path("python")
_LOADED = (
    _NODE,
    Path("node", "chance.cjs"),
    *(_PYTHON / f"{module}.py" for module in ("sitecustomize", "edgetapepreload", "edgetapechance")),
)
_END = b"-----END CERTIFICATE-----"


class ClientFilesError(EdgetapeError):
    """A file that clients need cannot be written."""


def write_client_files(
    folder: Path, bundle: Path, base: Mapping[str, str], *, carries_preloads: bool = False
) -> ClientFiles:
    """Writes the files into `folder`, each at once or not at all, and says where they are.

    `bundle` is the PEM bundle that they name; `base` is the user's environment, whose own wgetrc is kept. What is
    loaded into Node and Python lies where edgetape is installed, and outlasts `folder`: a Node that does not find it
    does not start. With `carries_preloads` it is copied into `folder`, which then can be taken elsewhere as a whole.
    Raises ClientFilesError.
    """
    preloads = _PRELOAD
    php_ini_folder = folder / "php"
    wgetrc, java = folder / "wgetrc", folder / "java-trust-store.p12"
    try:
        php_ini_folder.mkdir(parents=True, exist_ok=True)
        _replace(wgetrc, b"%sca_certificate=%s\n" % (_users_wgetrc(base), os.fsencode(bundle)))
        ini = f'curl.cainfo="{bundle}"\nopenssl.cafile="{bundle}"\n'
        _replace(php_ini_folder / "edgetape.ini", os.fsencode(ini))
        _replace(java, _java_trust_store(bundle.read_bytes()))
        if carries_preloads:
            preloads = folder / "preload"
            _copy_preloads(preloads)
    except OSError as error:
        raise ClientFilesError(
            f"the files for the agent's clients cannot be written to {folder}: {error.strerror}",
            hint="check the permissions of the folder and the space on its disk",
        ) from error
    return ClientFiles(wgetrc, php_ini_folder, java, preloads / _NODE, preloads / _PYTHON)


def _copy_preloads(folder: Path) -> None:
    for path in _LOADED:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        _replace(folder / path, (_PRELOAD / path).read_bytes())


def _users_wgetrc(base: Mapping[str, str]) -> bytes:
    """The user's own settings: WGETRC replaces their file, so ours has to begin with it."""
    named = base.get("WGETRC") or (f"{base['HOME']}/.wgetrc" if base.get("HOME") else "")
    try:
        content = Path(named).read_bytes() if named else b""
    except OSError:
        return b""
    return content if not content or content.endswith(b"\n") else content + b"\n"


def _java_trust_store(bundle: bytes) -> bytes:
    """The bundle as a PKCS #12 trust store, which every JDK since 8 reads."""
    certificates = [
        pkcs12.PKCS12Certificate(certificate, f"root-{number}".encode())
        for number, certificate in enumerate(_certificates(bundle))
    ]
    if not certificates:
        raise ClientFilesError("the bundle of trusted roots holds no certificate", hint="write it anew: it is damaged")
    return pkcs12.serialize_java_truststore(certificates, BestAvailableEncryption(TRUST_STORE_PASSWORD.encode()))


def _certificates(bundle: bytes) -> Iterator[x509.Certificate]:
    """The certificates of a bundle; one that the parser refuses is of no use to a client either."""
    for block in bundle.split(_END)[:-1]:
        try:
            with warnings.catch_warnings(action="ignore"):  # old roots with odd serial numbers
                certificate = x509.load_pem_x509_certificate(block + _END)
        except ValueError:
            continue
        yield certificate


def _replace(path: Path, content: bytes) -> None:
    with drafted(path) as draft:
        draft.write_bytes(content)
        draft.chmod(0o644)
