"""A scan finds what older rules let through, names the place, and finds nothing where the rules of today wrote."""

import gzip
import json
from pathlib import Path

import pytest

from store.core.draft import Draft, Sheet
from store.core.model import Agent, HttpRequest, HttpResponse, Note, Policies, RunOpen
from store.core.redact import Redactor, stored
from store.reader import Reader
from store.scan import Finding, Scan
from store.writer import Writer

TOKEN = "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"


def written(folder: Path, *, careless: bool) -> str:
    """A run of one exchange and a note, written as it came or as today's rules have it."""
    redactor, sheet = Redactor(known=["environment-secret"]), Sheet()
    writer = Writer.open(folder / "store", folder / "keys")
    policies = Policies(redaction="r", classification="c")
    opening = RunOpen(origin="", mode="record", recorder="t", clock="system", policies=policies, agent=Agent())
    run, _ = writer.open_run(Draft(opening))
    sent, told = json.dumps({"api_key": "plain", "n": 1}).encode(), gzip.compress(f"your key: {TOKEN}".encode())
    fields = [(b"Host", b"a.example"), (b"X-Api-Key", b"short"), (b"Accept", b"application/json")]
    asked = HttpRequest(
        method="POST",
        scheme="https",
        host="a.example",
        port=443,
        path=sheet.text(stored(b"/x") if careless else redactor.path(b"/x")),
        http_version="HTTP/1.1",
        headers=sheet.pairs(
            [(stored(name), stored(value) if careless else redactor.header(name, value)) for name, value in fields]
        ),
        query=sheet.apart(stored(b"key=abc&q=1") if careless else redactor.query(b"key=abc&q=1")),
        body=sheet.apart(stored(sent) if careless else redactor.body(sent)),
    )
    ticket = writer.append(run, sheet.draft(asked))
    sheet = Sheet()
    answer = HttpResponse(
        req=-1,
        status=200,
        http_version="HTTP/1.1",
        headers=[["Content-Encoding", "gzip"], ["Content-Type", "text/plain"]],
        ended="complete",
        framing="length",
        exact=careless,
        body=sheet.apart(stored(told if careless else b"your key: <edgetape:anthropic:1>")),
    )
    writer.append(run, sheet.draft(answer), after=ticket)
    sheet = Sheet()
    note = b'{"text": "environment-secret"}'
    writer.append(
        run, sheet.draft(Note(kind="state", body=sheet.apart(stored(note) if careless else redactor.body(note))))
    )
    writer.close_run(run, "normal").result(60)
    writer.close()
    return run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def test_what_got_through_is_found_by_its_place_and_class(place: Path) -> None:
    run = written(place, careless=True)
    with Reader.open(place / "store", place / "keys") as reader:
        scan = Scan(reader, ["environment-secret"])
        found = list(scan.run(run))
    assert found == [
        Finding(run, 1, "/query", "query", 1),
        Finding(run, 1, "/headers/1/1", "key", 1),
        Finding(run, 1, "/body", "field", 1),
        Finding(run, 2, "/body", "anthropic", 1),
        Finding(run, 3, "/body", "environment", 1),
    ]
    assert (scan.bodies, scan.unreadable) == (4, 0)


def test_marks_are_no_findings(place: Path) -> None:
    run = written(place, careless=False)
    with Reader.open(place / "store", place / "keys") as reader:
        assert list(Scan(reader, ["environment-secret"]).run(run)) == []
