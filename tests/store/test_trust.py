"""A bundle holds the system's roots, the user's own and ours, and never ours alone."""

import ssl
from pathlib import Path

import pytest

from store import trust
from store.authority import Authority
from store.trust import NoRoots, roots, write_bundle


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.open_or_create(tmp_path / "authority")


@pytest.fixture
def corporate(tmp_path: Path) -> Authority:
    """A root that only a variable of the user names."""
    return Authority.open_or_create(tmp_path / "corporate")


def certificates(bundle: Path) -> list[bytes]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cafile=bundle)
    return context.get_ca_certs(binary_form=True)


def der(authority: Authority) -> bytes:
    return ssl.PEM_cert_to_DER_cert(authority.certificate_pem.decode())


def test_c105_a_bundle_holds_the_system_roots_and_ours_once(authority: Authority, tmp_path: Path) -> None:
    write_bundle(tmp_path / "bundle.pem", authority.certificate_pem, {})
    held = certificates(tmp_path / "bundle.pem")
    assert len(held) > 20
    assert held.count(der(authority)) == 1
    assert len(set(held)) == len(held)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR"])
def test_a_root_that_only_the_user_names_is_kept(
    variable: str, authority: Authority, corporate: Authority, tmp_path: Path
) -> None:
    named = corporate.folder if variable == "SSL_CERT_DIR" else corporate.certificate_path
    write_bundle(tmp_path / "bundle.pem", authority.certificate_pem, {variable: str(named)})
    held = certificates(tmp_path / "bundle.pem")
    assert der(corporate) in held
    assert len(held) > 20


def test_the_users_private_key_beside_a_root_does_not_get_into_the_bundle(
    authority: Authority, corporate: Authority, tmp_path: Path
) -> None:
    write_bundle(tmp_path / "b.pem", authority.certificate_pem, {"SSL_CERT_DIR": str(corporate.folder)})
    assert b"PRIVATE KEY" not in (tmp_path / "b.pem").read_bytes()


def test_a_bundle_made_from_a_bundle_is_the_same_set(authority: Authority, tmp_path: Path) -> None:
    write_bundle(tmp_path / "one.pem", authority.certificate_pem, {})
    write_bundle(tmp_path / "two.pem", authority.certificate_pem, {"SSL_CERT_FILE": str(tmp_path / "one.pem")})
    assert sorted(certificates(tmp_path / "one.pem")) == sorted(certificates(tmp_path / "two.pem"))


def test_variables_that_name_nothing_are_passed_over() -> None:
    assert roots({"SSL_CERT_FILE": "/nowhere/at-all", "SSL_CERT_DIR": "/nowhere:/else"}) == roots({})


def test_without_any_root_there_is_no_bundle(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_system_files", lambda: iter(()))
    monkeypatch.setattr(trust, "_packaged_roots", lambda: tmp_path / "nothing")
    with pytest.raises(NoRoots) as caught:
        write_bundle(tmp_path / "bundle.pem", authority.certificate_pem, {})
    assert "ca-certificates" in caught.value.hint
    assert not (tmp_path / "bundle.pem").exists()
