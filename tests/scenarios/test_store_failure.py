"""A store that fails at any commit: the agent hears a clear 503, nothing passes unrecorded, what is there verifies."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from addons.options import RecorderOptions
from addons.recorder import Recorder
from store import database
from store.authority import Authority
from store.core.draft import Draft
from store.core.model import Agent, Policies, RunOpen
from store.drafting.desk import Desk
from store.writer import Writer
from tests.scenarios.kept import Kept, kept, proven
from tests.support.provider import Provider
from tests.support.sample import Sample

EXCHANGES = 50
CODES = {"FULL": sqlite3.SQLITE_FULL, "BUSY": sqlite3.SQLITE_BUSY, "IOERR": sqlite3.SQLITE_IOERR_FSYNC}
FAULTS = ("", "chunks/300,7", "slow-sse?n=3&ms=1")

type Fails = Callable[[int], str | None]


def sound(_: int) -> None:
    """No commit fails."""


def at(commit: int, code: str) -> Fails:
    """Only that commit fails, in this way."""
    return lambda number: code if number == commit else None


@dataclass(slots=True)
class Disk:
    """What goes wrong: `fails` gets the number of each COMMIT, from 1, and says how it fails, or None."""

    fails: Fails = sound
    commits: int = 0
    connections: list[Faulty] = field(default_factory=list)

    def connect(self, path: Path) -> sqlite3.Connection:
        """A connection as the writer takes it, on this disk."""
        connection = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False, factory=Faulty)
        connection.disk = self
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        self.connections.append(connection)
        return connection


class Faulty(sqlite3.Connection):
    """Fails at a COMMIT where its disk says so, with SQLite's own codes, before anything is written."""

    disk: Disk

    def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
        if sql == "COMMIT":
            self.disk.commits += 1
            name = self.disk.fails(self.disk.commits)
            if name is not None:
                error = sqlite3.OperationalError(f"as the test has it: {name}")
                error.sqlite_errorcode, error.sqlite_errorname = CODES[name], f"SQLITE_{name}"
                raise error
        return super().execute(sql, *parameters)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def recording(folder: Path, disk: Disk, fails: Fails = sound) -> AsyncIterator[httpx.AsyncClient]:
    """A client that goes through a recorder, in strict, over a store on that disk, which is sound before and after."""
    authority = Authority.open_or_create(folder / "authority")
    writer = Writer.open(folder / "store", folder / "keys", disk.connect)
    recorder = Recorder(Desk(writer), RecorderOptions(confdir=authority.folder))
    try:
        await recorder.start()
        policies = Policies(redaction="none", classification="none")
        facts = RunOpen(
            origin="", mode="record", recorder="test", clock="system", policies=policies, agent=Agent(), name="faulty"
        )
        recorder.open_run(Draft(facts))
        await writer.checkpoint()
        disk.commits, disk.fails = 0, fails
        try:
            async with httpx.AsyncClient(
                timeout=30, proxy=f"http://127.0.0.1:{recorder.port}", trust_env=False
            ) as client:
                yield client
        finally:
            disk.fails = sound
            await recorder.stop()
    finally:
        writer.close()


async def ask_all(client: httpx.AsyncClient, provider: Provider) -> dict[str, bytes | int]:
    """Asks fifty different things in three ways: what came whole, or the status, 0 for an answer that broke off."""
    come: dict[str, bytes | int] = {}
    for number in range(EXCHANGES):
        fault = FAULTS[number % len(FAULTS)]
        path = f"/{number}"
        url = provider.url + path + (f"?fault={quote(fault, safe='')}" if fault else "")
        try:
            answer = await client.post(url, content=b"%d" % number)
        except httpx.TransportError:
            come[path] = 0
        else:
            come[path] = answer.content if answer.status_code == 200 else answer.status_code
            if answer.status_code == 503:
                assert answer.headers["content-type"] == "application/problem+json"
                assert "edgetape cannot record this exchange, so it was stopped" in answer.json()["detail"]
    return come


def check(folder: Path, come: dict[str, bytes | int], provider: Provider) -> None:
    """Nothing went unrecorded: what left, and what the agent has."""
    proven(folder / "store", gaps=not all(isinstance(answer, bytes) for answer in come.values()))
    recorded: dict[str, list[Kept]] = {}
    for one in kept(folder / "store", "faulty"):
        recorded.setdefault("/" + one.place.rpartition("/")[2], []).append(one)
    for path, answer in come.items():
        if isinstance(answer, bytes):
            assert [(one.body, one.ended) for one in recorded[path]] == [(answer, "complete")], path
        else:
            assert answer in (0, 503), path
    left = {request.path for request in provider.seen()}
    assert left - set(recorded) == set()


async def test_a_sound_disk_records_all_fifty(tmp_path: Path, provider: Provider) -> None:
    disk = Disk()
    async with recording(tmp_path, disk) as client:
        come = await ask_all(client, provider)
    assert all(isinstance(answer, bytes) for answer in come.values())
    assert disk.commits >= 2 * EXCHANGES
    check(tmp_path, come, provider)


@pytest.mark.parametrize("code", CODES)
async def test_one_commit_that_fails_costs_one_exchange(
    code: str, tmp_path: Path, provider: Provider, sample: Sample
) -> None:
    commits = range(1, 2 * EXCHANGES + 1)
    chosen = commits if sample.full else sorted(sample.source(code).sample(commits, 3))
    for commit in chosen:
        folder = tmp_path / str(commit)
        folder.mkdir()
        provider.forget()
        async with recording(folder, Disk(), at(commit, code)) as client:
            come = await ask_all(client, provider)
        assert sum(not isinstance(answer, bytes) for answer in come.values()) <= 1
        check(folder, come, provider)


async def test_commits_that_fail_again_and_again_lose_nothing_unseen(
    tmp_path: Path, provider: Provider, sample: Sample
) -> None:
    random = sample.source()
    disk = Disk()
    async with recording(tmp_path, disk, lambda _: random.choice((*CODES, None, None, None, None))) as client:
        come = await ask_all(client, provider)
    refused = sum(not isinstance(answer, bytes) for answer in come.values())
    assert 0 < refused < EXCHANGES
    check(tmp_path, come, provider)
    sample.measured(f"{disk.commits} commits of {EXCHANGES} exchanges, many failing: {refused} stopped, 0 unrecorded")


async def test_a_store_that_is_really_full_refuses_and_goes_on_when_there_is_room(
    tmp_path: Path, provider: Provider
) -> None:
    disk = Disk()
    async with recording(tmp_path, disk) as client:
        (connection,) = disk.connections
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 20}")
        come = await ask_all(client, provider)
        assert 503 in come.values()
        connection.execute("PRAGMA max_page_count = 1000000")
        room = await client.post(provider.url + "/room")
        assert room.status_code == 200
    check(tmp_path, {**come, "/room": room.content}, provider)


HOLD = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Another program holds the store's lock while the block lasts."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        yield
        other.communicate()


async def test_a_store_that_another_program_really_holds_refuses_and_goes_on_when_it_is_free(
    tmp_path: Path, provider: Provider
) -> None:
    async with recording(tmp_path, Disk()) as client:
        with held(tmp_path / "store" / database.FILE_NAME):
            refused = await client.post(provider.url + "/held")
            assert refused.status_code == 503
            assert "locked" in refused.json()["detail"]
            assert provider.seen() == ()
        free = await client.post(provider.url + "/free")
        assert free.status_code == 200
    check(tmp_path, {"/held": 503, "/free": free.content}, provider)
