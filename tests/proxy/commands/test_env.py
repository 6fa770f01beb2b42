"""The variables that send a program through the recorder."""

import json
import subprocess
import urllib.parse
from pathlib import Path

import pytest

from proxy.cli import run
from tests.proxy.tape import Folders, folders


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    return folders(tmp_path / "with space")


def test_a_shell_that_evaluates_it_has_proxy_and_roots(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "env", "--name", "mine", "--port", "9999"]) == 0
    script = capsys.readouterr().out + 'printf "%s\\n" "$https_proxy" "$SSL_CERT_FILE" "$NO_PROXY"'
    lines = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    proxy = urllib.parse.urlsplit(lines[0])
    assert (proxy.username, proxy.hostname, proxy.port) == ("mine", "127.0.0.1", 9999)
    assert proxy.password
    authority = (place.authority / "edgetape-ca.pem").read_text().strip()
    assert authority in Path(lines[1]).read_text()
    assert lines[2] == ""


def test_the_authority_is_made_once(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    certificate = place.authority / "edgetape-ca.pem"
    assert run([*place.options, "env"]) == 0
    first = certificate.read_bytes()
    assert run([*place.options, "env"]) == 0
    assert certificate.read_bytes() == first


@pytest.mark.parametrize("shell", ["fish", "powershell", "dotenv"])
def test_other_shells_are_spoken_too(shell: str, place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "env", "--shell", shell]) == 0
    assert "HTTPS_PROXY" in capsys.readouterr().out


def test_json_is_an_object_of_names_and_values(
    place: Folders, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_DIR", "/nowhere")
    assert run([*place.options, "env", "--json"]) == 0
    variables = json.loads(capsys.readouterr().out)
    assert variables["HTTPS_PROXY"].startswith("http://default:")
    assert variables["SSL_CERT_DIR"] is None


def test_a_name_that_no_proxy_url_can_carry_is_refused(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "env", "--name", "team:agent"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "colon" in said.err


def test_a_port_that_only_a_listener_can_ask_for_is_refused(place: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "env", "--port", "0"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "port 0" in said.err


def test_all_that_a_program_elsewhere_needs_lies_in_the_folder_and_no_key_does(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "handed on"
    assert run([*place.options, "env", "--folder", str(folder), "--json"]) == 0
    needed = json.loads(capsys.readouterr().out)
    assert [name for name, value in needed.items() if str(place.authority) in str(value)] == []
    assert needed["NODE_EXTRA_CA_CERTS"] == str(folder / "authority.pem")
    assert [path for path in folder.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()] == []
