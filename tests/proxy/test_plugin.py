"""The pytest plugin, by real runs of pytest in a project of its own: recorded, replayed, and a drift shown."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from proxy.plugin import Harness, HarnessFailed
from tests.support.processes import ROOT
from tests.support.provider import Provider

TESTS = """
import os, subprocess, sys, urllib.request
import httpx, pytest

URL = os.environ["URL"]

@pytest.fixture
def client():
    with httpx.Client(timeout=60) as client:
        yield client

@pytest.fixture
def order(client):
    yield client.get(URL + "/order").status_code
    client.delete(URL + "/order")

@pytest.mark.edgetape
def test_in_process(client):
    assert urllib.request.urlopen(URL + "/plain").status == 200
    assert client.get(URL + "/models").status_code == 200
    assert "EDGETAPE_RUN" in os.environ

def test_of_a_child(edgetape):
    code = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).status)"
    assert subprocess.check_output([sys.executable, "-c", code, URL + "/child"]) == b"200\\n"
    assert edgetape.path.name == "test_agent.test_of_a_child.tape"

@pytest.mark.edgetape(tape="asked")
def test_swallows(client):
    assert urllib.request.urlopen(URL + "/again").status == 200  # by the opener of its own test, not the first one's
    client.post(URL + "/ask", json={"words": os.environ.get("WORDS", "hello")})

@pytest.mark.edgetape(teardown=True)
def test_of_a_fixture_that_goes_on(order):
    assert order == 200

@pytest.mark.edgetape
def test_fails(client):
    client.get(URL + "/models")
    raise RuntimeError("a test of its own mind")

def test_without():
    assert "EDGETAPE_RUN" not in os.environ
"""


def pytest_run(folder: Path, url: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Pytest over the project, with nothing but our plugin and xdist."""
    told = {
        "URL": url,
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "EDGETAPE_COMMAND": f"{sys.executable} -m proxy",
        **{f"EDGETAPE_{name}": str(folder / name.lower()) for name in ("STORE", "KEYS", "AUTHORITY")},
    }
    plain = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "proxy.plugin", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**plain, **told, **variables},
        capture_output=True,
        text=True,
        timeout=140,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_agent.py").write_text(TESTS)
    return tmp_path


def outcomes(said: str) -> Mapping[str, int]:
    """The counts of pytest's last line."""
    counted = re.findall(r"(\d+) (\w+)", said.splitlines()[-1].partition(" in ")[0])
    return {what.rstrip("s"): int(number) for number, what in counted}


@pytest.mark.timeout(300)  # two runs of pytest with five processes beside them
def test_tests_are_recorded_and_replayed_and_a_drift_fails_one_that_passes(project: Path, provider: Provider) -> None:
    recorded = pytest_run(project, provider.url)
    assert outcomes(recorded.stdout) == {"passed": 5, "failed": 1}, recorded.stdout + recorded.stderr
    assert "edgetape: 0 replayed (UNCONFINED), 4 recorded" in recorded.stdout
    assert "no tape was written: the test failed" in recorded.stdout
    assert sorted(path.name for path in (project / "tests" / "tapes").iterdir()) == [
        "asked.tape",
        "test_agent.test_in_process.tape",
        "test_agent.test_of_a_child.tape",
        "test_agent.test_of_a_fixture_that_goes_on.tape",
    ]
    asked = len(provider.seen())
    replayed = pytest_run(project, provider.url, "-p", "xdist", "-n", "2", CI="true", WORDS="bye")
    assert outcomes(replayed.stdout) == {"passed": 4, "failed": 1, "error": 1}, replayed.stdout + replayed.stderr
    assert "edgetape: 4 replayed (UNCONFINED), 0 recorded" in replayed.stdout
    assert "there is no tape" in replayed.stdout
    assert "pytest --edgetape=record 'tests/test_agent.py::test_fails'" in replayed.stdout
    drift = replayed.stdout.partition("test_swallows")[2]
    for line in ("asked.tape: DRIFTED at step 2", "body /words", 'recorded: "hello"', 'live:     "bye"'):
        assert line in drift
    assert len(provider.seen()) == asked


def test_a_command_that_is_not_there_and_a_wrong_marker_are_told_in_a_sentence(project: Path) -> None:
    (project / "tests" / "test_agent.py").write_text(
        "import pytest\ndef test_one(edgetape): pass\n@pytest.mark.edgetape(tapes='x')\ndef test_two(): pass\n"
    )
    said = pytest_run(project, "", "--edgetape=record", EDGETAPE_COMMAND="no-such-command")
    assert outcomes(said.stdout) == {"error": 2}
    assert "edgetape cannot be asked" in said.stdout
    assert "@pytest.mark.edgetape takes tape=, order=" in said.stdout
    assert "Traceback" not in said.stdout


def test_a_file_that_cannot_be_collected_is_told_as_without_us(project: Path) -> None:
    (project / "tests" / "test_broken.py").write_text("import no_such_module\n")
    said = pytest_run(project, "", "tests/test_broken.py")
    assert (said.returncode, said.stderr) == (2, "")
    assert "ModuleNotFoundError: No module named 'no_such_module'" in said.stdout
    assert "1 error" in said.stdout.splitlines()[-1]


def test_a_harness_that_has_ended_is_started_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "dies"
    script.write_text(f"echo started >> {tmp_path}/starts\necho '{{\"protocol\": 1}}'\nread line\necho why >&2\n")
    monkeypatch.setenv("EDGETAPE_COMMAND", f"sh {script}")
    harness = Harness()
    for _ in range(2):
        with pytest.raises(HarnessFailed, match="edgetape has ended: why"):
            harness.ask(do="replay")
    harness.close()
    assert (tmp_path / "starts").read_text() == "started\nstarted\n"
