"""Real clients, started in the agent's environment, go through our proxy and trust our authority, unchanged."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proxy.agent.clients import ClientFilesError, write_client_files
from proxy.agent.environment import agent_environment
from store.authority import Authority
from store.trust import write_bundle
from tests.proxy.agent.intercept import intercepting

URL = "https://model.example/v1/chat"
JAVA = """
import java.net.*;
class Fetch { public static void main(String[] words) throws Exception {
  System.out.print(new String(new URL(words[0]).openStream().readAllBytes())); } }
"""
CLIENTS = {
    "curl": ["curl", "-sS", URL],
    "wget": ["wget", "-qO-", URL],
    "git": ["git", "ls-remote", URL],
    "urllib": [sys.executable, "-c", f"import urllib.request as u; print(u.urlopen({URL!r}).read().decode())"],
    "requests": [sys.executable, "-c", f"import requests; print(requests.get({URL!r}).text)"],
    "httpx": [sys.executable, "-c", f"import httpx; print(httpx.get({URL!r}).text)"],
    "openai": [
        sys.executable,
        "-c",
        "import httpx, openai\n"
        "client = openai.OpenAI(base_url='https://model.example/v1', api_key='sk-x', max_retries=0)\n"
        "print(client.get('/chat', cast_to=httpx.Response).text)",
    ],
    "java": ["java", "Fetch.java", URL],
}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.open_or_create(tmp_path / "authority")


def corporate_image() -> dict[str, str]:
    """An environment whose own settings would win if they were left in place."""
    roots = "/etc/ssl/certs/ca-certificates.crt"
    names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS")
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "NO_PROXY": "*",
        "no_proxy": "model.example",
        "SSL_CERT_DIR": "/etc/ssl/certs",
        **dict.fromkeys(names, roots),
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_goes_through_the_proxy_and_trusts_it(client: str, authority: Authority, tmp_path: Path) -> None:
    command = CLIENTS[client]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{client} is not installed")
    (tmp_path / "Fetch.java").write_text(JAVA)
    base, bundle = corporate_image(), tmp_path / "bundle.pem"
    write_bundle(bundle, authority.certificate_pem, base)
    files = write_client_files(tmp_path / "client files", bundle, base)
    with intercepting(authority) as proxy:
        environment = agent_environment(base, proxy.url, authority.certificate_path, bundle, files)
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False
        )
    path = "/v1/chat/info/refs?service=git-upload-pack" if client == "git" else "/v1/chat"
    assert proxy.heads[:1] == [f"model.example:443 GET {path} HTTP/1.1"], done.stderr
    assert client == "git" or done.stdout.strip() == "ok"


def test_the_users_own_wgetrc_is_kept(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / ".wgetrc").write_text("timeout = 7")
    files = write_client_files(tmp_path / "files", authority.certificate_path, {"HOME": str(tmp_path)})
    assert files.wgetrc is not None
    assert files.wgetrc.read_text() == f"timeout = 7\nca_certificate={authority.certificate_path}\n"


def test_a_bundle_without_a_certificate_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "bundle.pem").write_bytes(b"nothing")
    with pytest.raises(ClientFilesError, match="holds no certificate"):
        write_client_files(tmp_path / "files", tmp_path / "bundle.pem", {})


def test_a_folder_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ClientFilesError, match="cannot be written"):
        write_client_files(tmp_path / "file", tmp_path / "bundle.pem", {})


def test_a_folder_that_is_to_be_taken_elsewhere_holds_all_that_is_loaded(authority: Authority, tmp_path: Path) -> None:
    bundle = authority.certificate_path
    lasting = write_client_files(tmp_path / "lasting", bundle, {}, carries_preloads=True)
    installed = write_client_files(tmp_path / "passing", bundle, {})
    for ours, theirs in (
        (lasting.node_preload, installed.node_preload),
        (lasting.python_folder, installed.python_folder),
    ):
        assert ours is not None
        assert theirs is not None
        assert ours.is_relative_to(tmp_path / "lasting")
        assert not theirs.is_relative_to(tmp_path)
        folder, source = (ours, theirs) if ours.is_dir() else (ours.parent, theirs.parent)
        made = {path.name: path.read_bytes() for path in folder.iterdir()}
        loaded = {path.name for path in source.iterdir() if path.suffix in (".py", ".cjs")} - {"__init__.py"}
        assert made.keys() == loaded
        assert all((source / name).read_bytes() == content for name, content in made.items())
