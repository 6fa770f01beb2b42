"""What became of a client's request is told by what was recorded, not by what the client says."""

import sys
from pathlib import Path

from proxy.doctor.clients import ABSENT, CLIENTS, Client, clients_of
from proxy.doctor.trial import Finding, Subject, subjects, tried
from store.authority import Authority

NAMED = {client.name: client for client in CLIENTS}
PAST_IT = "import http.client, sys; http.client.HTTPSConnection(sys.argv[1].split('/')[2]).request('GET', '/')"


def python(*words: str) -> Subject:
    return Subject(Client("one", "python3", words, "a variable"), sys.executable)


async def test_each_client_is_told_apart_by_what_the_recorder_saw(tmp_path: Path) -> None:
    authority = Authority.open_or_create(tmp_path / "authority")
    other = Authority.open_or_create(tmp_path / "other").certificate_path
    told: list[tuple[int, int]] = []
    there = [
        Subject(NAMED["Python grpc"], sys.executable),
        Subject(NAMED["Python websockets"], sys.executable),
        Subject(NAMED["curl"], "curl"),
        Subject(Client("pinned", "curl", ("--cacert", str(other), "{url}"), "a variable"), "curl"),
        python("-I", "-c", PAST_IT, "{url}"),
        python("-c", f"import sys; sys.exit({ABSENT})"),
    ]
    findings = await tried(there, authority, 4, lambda *counts: told.append(counts))
    verdicts = ["passes", "passes", "passes", "distrusts", "ignores", "absent"]
    assert [finding.verdict for finding in findings] == verdicts, findings
    assert [finding.is_fault for finding in findings] == [False, False, False, True, True, False]
    assert "getaddrinfo" in findings[4].said or "not known" in findings[4].said
    assert told == [(done, 6) for done in range(1, 7)]


def test_a_client_that_nothing_reaches_is_no_fault_of_the_machine() -> None:
    assert not Finding(Subject(NAMED["PHP streams"], "php"), "ignores").is_fault
    assert Finding(Subject(NAMED["PHP streams"], "php"), "fails").is_fault


def test_what_is_on_the_path_is_tried_and_what_is_named_besides(tmp_path: Path) -> None:
    (tmp_path / "curl").touch(0o755)
    found, missing = subjects(["/opt/python3.12"], str(tmp_path))
    assert {subject.path for subject in found} == {str(tmp_path / "curl"), "/opt/python3.12"}
    assert {client.runtime for client in missing} >= {"Node", "Go", "git"}
    assert not any(client.runtime in ("curl", "Python") for client in missing)
    assert {subject.name for subject in found} >= {"curl", "Python requests (/opt/python3.12)"}


def test_a_program_is_known_by_its_name() -> None:
    for program, runtime in {"python3.12": "Python", "/a/b/python": "Python", "node": "Node", "bun": "Bun"}.items():
        assert {client.runtime for client in clients_of(program)} == {runtime}
    assert clients_of("/bin/sh") == []
