"""Leaves of our authority are accepted by the strictest verifiers that clients use."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from store.authority import Authority
from store.certificate import BadHost, LeafTerms

RECORDED = datetime(2020, 2, 29, 12, tzinfo=UTC)
LONG_HOST = f"{'a' * 60}.{'b' * 60}.example.com"
HOSTS = [
    "api.openai.com",
    "localhost",
    "127.0.0.1",
    "::1",
    "xn--bcher-kva.example",
    LONG_HOST,
    "my_host.internal",
]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.open_or_create(tmp_path / "authority")


def leaf_files(authority: Authority, host: str, folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = authority.mint(host, LeafTerms.around(RECORDED, datetime.now(UTC)), key)
    certificate_path, key_path = folder / "leaf.pem", folder / "leaf.key"
    certificate_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate_path, key_path


@contextmanager
def tls_server(certificate: Path, key: Path) -> Iterator[int]:
    """Answers one request over TLS on a loopback port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        plain, _ = listener.accept()
        with plain, context.wrap_socket(plain, server_side=True) as client:
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        thread.join(10)
        listener.close()


@pytest.mark.parametrize("host", HOSTS)
def test_python_with_strict_checking_accepts_a_leaf_for(host: str, authority: Authority, tmp_path: Path) -> None:
    context = ssl.create_default_context(cafile=str(authority.certificate_path))
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    with (
        tls_server(*leaf_files(authority, host, tmp_path)) as port,
        socket.create_connection(("127.0.0.1", port)) as plain,
        context.wrap_socket(plain, server_hostname=host) as tls,
    ):
        tls.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert tls.recv(4096).startswith(b"HTTP/1.1 200")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
@pytest.mark.parametrize("host", HOSTS)
def test_openssl_with_strict_checking_accepts_a_leaf_for(host: str, authority: Authority, tmp_path: Path) -> None:
    certificate, _ = leaf_files(authority, host, tmp_path)
    named = ["-verify_ip", host] if host in {"127.0.0.1", "::1"} else ["-verify_hostname", host]
    verified = subprocess.run(
        [
            "openssl",
            "verify",
            "-x509_strict",
            "-purpose",
            "sslserver",
            *named,
            "-CAfile",
            str(authority.certificate_path),
            str(certificate),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == 0, verified.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
@pytest.mark.parametrize("moment, accepted", [(RECORDED, True), (datetime(2020, 2, 20, tzinfo=UTC), False)])
def test_a_leaf_holds_at_the_recorded_time_and_not_long_before(
    moment: datetime, accepted: bool, authority: Authority, tmp_path: Path
) -> None:
    certificate, _ = leaf_files(authority, "api.openai.com", tmp_path)
    verified = subprocess.run(
        [
            "openssl",
            "verify",
            "-x509_strict",
            "-attime",
            str(int(moment.timestamp())),
            "-CAfile",
            str(authority.certificate_path),
            str(certificate),
        ],
        capture_output=True,
        check=False,
    )
    assert (verified.returncode == 0) is accepted


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_accepts_a_leaf(authority: Authority, tmp_path: Path) -> None:
    with tls_server(*leaf_files(authority, "api.openai.com", tmp_path)) as port:
        fetched = subprocess.run(
            [
                "curl",
                "-sS",
                "--cacert",
                str(authority.certificate_path),
                "--noproxy",
                "*",
                "--connect-to",
                f"api.openai.com:443:127.0.0.1:{port}",
                "https://api.openai.com/",
            ],
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert fetched.stdout == b"ok", fetched.stderr


def san(authority: Authority, host: str) -> list[str]:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = authority.mint(host, LeafTerms.around(RECORDED, RECORDED), key)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in names]


@pytest.mark.parametrize(
    "host, named",
    [
        ("API.OpenAI.com.", "api.openai.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("[::1]", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("10.1.2.3", "10.1.2.3"),
    ],
)
def test_a_host_is_named_as_a_client_compares_it(host: str, named: str, authority: Authority) -> None:
    assert san(authority, host) == [named]


@pytest.mark.parametrize("host", ["", ".", "a b", "x" * 300, "ü" * 80, "line\nbreak"])
def test_a_host_that_no_certificate_can_name_is_refused(host: str, authority: Authority) -> None:
    with pytest.raises(BadHost):
        san(authority, host)


def test_two_leaves_share_neither_serial_nor_key_with_each_other_or_the_authority(
    authority: Authority,
) -> None:
    terms = LeafTerms.around(RECORDED, RECORDED)
    key = ec.generate_private_key(ec.SECP256R1())
    first, second = (authority.mint(host, terms, key) for host in ("a.example", "b.example"))
    assert len({first.serial_number, second.serial_number, authority.certificate.serial_number}) == 3
    assert first.public_key() == key.public_key() != authority.certificate.public_key()


def test_a_leaf_that_mitmproxy_mints_from_our_folder_passes_strict_checking(
    authority: Authority, tmp_path: Path
) -> None:
    certs = pytest.importorskip("mitmproxy.certs")
    store = certs.CertStore.from_store(authority.folder, "mitmproxy", 2048)
    entry = store.get_cert("api.openai.com", [x509.DNSName("api.openai.com")])
    (tmp_path / "leaf.pem").write_bytes(entry.cert.to_pem())
    (tmp_path / "leaf.key").write_bytes(
        entry.privatekey.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.create_default_context(cafile=str(authority.certificate_path))
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    with (
        tls_server(tmp_path / "leaf.pem", tmp_path / "leaf.key") as port,
        socket.create_connection(("127.0.0.1", port)) as plain,
        context.wrap_socket(plain, server_hostname="api.openai.com") as tls,
    ):
        tls.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert tls.recv(4096).startswith(b"HTTP/1.1 200")
