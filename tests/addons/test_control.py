"""What is asked of the recorder itself is answered by it alone, and is on record before the agent has it."""

import json
import ssl
import uuid
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from store.core.control.calls import CALL_BYTES_MAX
from store.core.model import Note, RunOpen, RunSpawn, Value
from tests.addons.raw import ask, get, intercepted, tunnelled
from tests.addons.recording import Recording, recording
from tests.support.provider import Provider

HERE = "http://edgetape.internal"
WORKER = {"name": "worker", "workflow": "nightly", "labels": {"part": "two", "team": "ours"}}


def bodies(made: Recording, word: str = "last") -> list[tuple[str, object]]:
    with made.reader() as reader:
        return [
            (event.facts.kind, json.loads(reader.body(event, event.facts.body)))
            for event in reader.events(reader.find(word).id)
            if isinstance(event.facts, Value | Note)
        ]


async def test_values_are_what_the_recording_says(tmp_path: Path) -> None:
    async with recording(tmp_path) as made:
        async with httpx.AsyncClient(timeout=30, proxy=made.proxy) as client:
            now = (await client.get(f"{HERE}/v1/now")).json()
            random = (await client.get(f"{HERE}/v1/random?bytes=5")).json()
            one = (await client.get(f"{HERE}/v1/uuid")).json()
            other = (await client.get(f"{HERE}/v1/uuid")).json()
        moment = datetime.fromisoformat(now["now"])
        assert round(moment.timestamp() * 1_000_000) == now["unix_us"]
        assert len(bytes.fromhex(random["hex"])) == 5
        assert uuid.UUID(one["uuid"]).version == 4
        assert one != other
        assert bodies(made) == [("now", now), ("random", random), ("uuid", one), ("uuid", other)]
        assert not made.exchanges()


async def test_a_note_is_kept_without_its_secrets(tmp_path: Path) -> None:
    async with recording(tmp_path) as made:
        said = {"kind": "effect", "effect": "refund", "committed": True, "receipt": "re_1", "api_key": "k" * 9}
        async with httpx.AsyncClient(timeout=30, proxy=made.proxy) as client:
            answer = await client.post(f"{HERE}/v1/notes", json=said)
        assert (answer.status_code, answer.json()) == (201, {"noted": "effect"})
        ((kind, kept),) = bodies(made)
        assert kind == "effect"
        assert kept == said | {"api_key": "<edgetape:field:1>"}


async def test_it_is_reached_by_connect_and_by_tls_as_well_and_is_never_dialled(tmp_path: Path) -> None:
    request = b"GET /v1/uuid HTTP/1.1\r\nHost: edgetape.internal\r\nConnection: close\r\n\r\n"
    async with recording(tmp_path) as made:
        async with tunnelled(made.recorder.port, "edgetape.internal:80") as (reader, writer):
            writer.write(request)
            plain = await reader.read()
        async with intercepted(made.recorder.port, "edgetape.internal:443", made.authority) as (reader, writer):
            writer.write(request)
            secured = await reader.read()
        for answer in (plain, secured):
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"uuid" in answer
        assert [kind for kind, _ in bodies(made)] == ["uuid", "uuid"]
        assert made.recorder.counts.failures == 0


async def test_a_child_run_is_opened_and_takes_what_names_it(tmp_path: Path, provider: Provider) -> None:
    labels = (("team", "the recorder's"), ("env", "test"))
    async with recording(tmp_path, labels=labels) as made:
        async with httpx.AsyncClient(timeout=30, proxy=made.proxy) as client:
            opened = (await client.post(f"{HERE}/v1/runs", json=WORKER)).json()
            again = await client.post(f"{HERE}/v1/runs", json={"name": "worker"})
            unnamed = (await client.post(f"{HERE}/v1/runs")).json()
            name, _, value = opened["header"].partition(": ")
            await client.get(provider.url + "/child", headers={name: value})
            await client.get(provider.url + "/parent")
        assert again.status_code == 409
        with made.reader() as reader:
            (parent,) = (run.id for run in reader.runs() if run.id not in (opened["run"], unnamed["run"]))
        assert [each.facts.path for each in made.exchanges(opened["run"])] == ["/child"]
        assert [each.facts.path for each in made.exchanges(parent)] == ["/parent"]
        spawned = [facts.child for facts in made.facts(parent) if isinstance(facts, RunSpawn)]
        assert spawned == [opened["run"], unnamed["run"]]
        first = made.facts("worker")[0]
        assert isinstance(first, RunOpen)
        assert first.parent is not None
        assert first.parent.run == parent
        assert (first.workflow, first.labels) == ("nightly", [["part", "two"], ["team", "ours"], ["env", "test"]])


@pytest.mark.parametrize(
    "method, path, fields, body, status",
    [
        (b"GET", "/v1/nothing", (), b"", 404),
        (b"DELETE", "/v1/notes", (), b"", 405),
        (b"GET", "/v1/now", (b"Origin: https://evil.example",), b"", 403),
        (b"GET", "/v1/now", (b"Referer: https://evil.example/page",), b"", 403),
        (b"GET", "/v1/random?bytes=0", (), b"", 400),
        (b"GET", "/v1/random?bytes=99999999999999999999999", (), b"", 400),
        (b"GET", "/v1/random?bytes=-1", (), b"", 400),
        (b"POST", "/v1/notes", (), b"", 400),
        (b"POST", "/v1/notes", (), b"[1]", 400),
        (b"POST", "/v1/notes", (), b'{"kind": "wish"}', 400),
        (b"POST", "/v1/notes", (), b'{"kind": ["decision"]}', 400),
        (b"POST", "/v1/notes", (), b'{"kind": "decision"}', 400),
        (b"POST", "/v1/notes", (), b'{"kind": "decision", "kind": "state", "summary": "x"}', 400),
        (b"POST", "/v1/runs", (), b'{"name": 5}', 400),
        (b"POST", "/v1/runs", (), b'{"labels": ["a"]}', 400),
        (b"POST", "/v1/runs", (), b'{"labels": {"a": 1}}', 400),
        (b"POST", "/v1/runs", (), b'{"workflow": null}', 400),
        (b"POST", "/v1/runs", (), b'{"name": "' + b"x" * 300 + b'"}', 400),
    ],
)
async def test_what_makes_no_sense_is_refused_and_leaves_no_trace(
    tmp_path: Path, method: bytes, path: str, fields: tuple[bytes, ...], body: bytes, status: int
) -> None:
    async with recording(tmp_path) as made:
        answer = await ask(made.recorder.port, get(f"{HERE}{path}", *fields, method=method, body=body))
        head, _, said = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert json.loads(said)["status"] == status
        with made.reader() as reader:
            assert list(reader.runs()) == []


async def test_a_body_that_is_too_long_or_of_unknown_length_is_not_taken(tmp_path: Path) -> None:
    async with recording(tmp_path) as made:
        long = get(f"{HERE}/v1/notes", method=b"POST", body=b"x" * (CALL_BYTES_MAX + 1))
        chunked = get(f"{HERE}/v1/notes", b"Transfer-Encoding: chunked", method=b"POST") + b"0\r\n\r\n"
        endless = get(f"{HERE}/v1/notes", b"Content-Length: 99999999999", method=b"POST")
        assert (await ask(made.recorder.port, long)).startswith(b"HTTP/1.1 413")
        assert (await ask(made.recorder.port, chunked)).startswith(b"HTTP/1.1 411")
        assert await ask(made.recorder.port, endless) == b""


async def test_it_tells_people_and_programs_what_it_does(tmp_path: Path) -> None:
    async with recording(tmp_path) as made:
        trust = ssl.create_default_context(cafile=str(made.authority))
        async with httpx.AsyncClient(timeout=30, proxy=made.proxy, verify=trust) as client:
            assert "/v1/notes" in (await client.get(f"{HERE}/")).text
            document = (await client.get("https://edgetape.internal/v1/openapi.json")).json()
        assert set(document["paths"]) == {"/v1/now", "/v1/random", "/v1/uuid", "/v1/notes", "/v1/runs", "/v1/rpc"}


async def test_with_a_token_it_wants_the_token(tmp_path: Path) -> None:
    async with recording(tmp_path, token="sesame") as made:
        answer = await ask(made.recorder.port, get(f"{HERE}/v1/now"))
        assert answer.startswith(b"HTTP/1.1 407")
