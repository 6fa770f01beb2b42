"""The authority is made once, kept private, and never silently replaced."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from store.authority import Authority, AuthorityError

ROOT = Path(__file__).resolve().parents[2]


def test_an_authority_is_made_once_and_then_opened(tmp_path: Path) -> None:
    made = Authority.open_or_create(tmp_path / "deep" / "authority")
    opened = Authority.open_or_create(tmp_path / "deep" / "authority")
    assert opened.certificate == made.certificate
    assert opened.key.private_numbers() == made.key.private_numbers()


def test_key_and_folder_are_closed_to_others(tmp_path: Path) -> None:
    authority = Authority.open_or_create(tmp_path / "authority")
    assert stat.S_IMODE(authority.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(authority.key_and_certificate_path.stat().st_mode) == 0o600


def test_an_empty_folder_made_beforehand_is_filled(tmp_path: Path) -> None:
    folder = tmp_path / "authority"
    folder.mkdir(mode=0o755)
    authority = Authority.open_or_create(folder)
    assert stat.S_IMODE(authority.folder.stat().st_mode) == 0o700


def test_processes_that_create_at_once_end_with_one_authority(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from store.authority import Authority; sys.stdin.read(); "
        "print(Authority.open_or_create(Path(sys.argv[1])).certificate.serial_number)"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "authority")],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()  # all of them wait for this
        process.stdin = None
    serials = {process.communicate(timeout=60)[0] for process in processes}
    assert len(serials) == 1
    assert serials != {b""}
    assert [path.name for path in tmp_path.iterdir()] == ["authority"]


@pytest.mark.parametrize("name", ["mitmproxy-ca.pem", "edgetape-ca.pem"])
def test_half_an_authority_is_an_error_and_stays_as_it_is(name: str, tmp_path: Path) -> None:
    authority = Authority.open_or_create(tmp_path / "authority")
    (authority.folder / name).unlink()
    before = {path.name: path.read_bytes() for path in authority.folder.iterdir()}
    with pytest.raises(AuthorityError, match=f"damaged: {name} is missing") as caught:
        Authority.open_or_create(authority.folder)
    assert "restore" in caught.value.hint
    assert {path.name: path.read_bytes() for path in authority.folder.iterdir()} == before


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_damaged_key_file_is_an_error(damage: bytes, tmp_path: Path) -> None:
    authority = Authority.open_or_create(tmp_path / "authority")
    authority.key_and_certificate_path.write_bytes(damage)
    with pytest.raises(AuthorityError, match="damaged"):
        Authority.open_or_create(authority.folder)


def test_another_authoritys_certificate_is_an_error(tmp_path: Path) -> None:
    first = Authority.open_or_create(tmp_path / "first")
    second = Authority.open_or_create(tmp_path / "second")
    first.certificate_path.write_bytes(second.certificate_pem)
    with pytest.raises(AuthorityError, match="different certificates"):
        Authority.open_or_create(first.folder)


def test_another_authoritys_key_is_an_error(tmp_path: Path) -> None:
    first = Authority.open_or_create(tmp_path / "first")
    second = Authority.open_or_create(tmp_path / "second")
    key = second.key_and_certificate_path.read_bytes().partition(b"-----BEGIN CERTIFICATE")[0]
    first.key_and_certificate_path.write_bytes(key + first.certificate_pem)
    with pytest.raises(AuthorityError, match="does not belong"):
        Authority.open_or_create(first.folder)


def test_a_key_that_others_can_read_is_refused_with_the_way_out(tmp_path: Path) -> None:
    authority = Authority.open_or_create(tmp_path / "authority")
    authority.key_and_certificate_path.chmod(0o644)
    with pytest.raises(AuthorityError, match="others may read") as caught:
        Authority.open_or_create(authority.folder)
    assert "chmod 600" in caught.value.hint


def test_a_folder_that_cannot_be_made_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AuthorityError, match="cannot be read or made"):
        Authority.open_or_create(tmp_path / "file" / "authority")


def test_mitmproxy_takes_the_folder_as_its_confdir(tmp_path: Path) -> None:
    certs = pytest.importorskip("mitmproxy.certs")
    authority = Authority.open_or_create(tmp_path / "authority")
    store = certs.CertStore.from_store(authority.folder, "mitmproxy", 2048)
    assert store.default_ca.to_cryptography() == authority.certificate
    assert Authority.open_or_create(authority.folder).certificate == authority.certificate
