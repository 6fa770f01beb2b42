"""What somebody waits for is committed at once; what nobody waits for shares a transaction with what comes after it."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from store import commit
from store.commit import Committer, Rhythm, Work
from store.livelogs import LiveLogs
from store.vault import Vault

WAIT_S_MAX = 30.0


@pytest.fixture
def commits() -> list[None]:
    """One for each commit so far."""
    return []


@pytest.fixture
def committer(tmp_path: Path, commits: list[None], monkeypatch: pytest.MonkeyPatch) -> Iterator[Committer]:
    """One that would lie still for a minute where nobody hurries."""
    monkeypatch.setattr(commit, "UNHURRIED_S", 60.0)
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None, check_same_thread=False)
    rhythm = Rhythm(lambda: 3600.0, lambda: Work(lambda: lambda _: None), lambda: commits.append(None))
    running = Committer(connection, tmp_path / "x.db", LiveLogs(Vault(tmp_path, "x")), rhythm)
    yield running
    running.stop()


def test_what_nobody_waits_for_shares_a_transaction(committer: Committer, commits: list[None]) -> None:
    tickets = [committer.submit(lambda: lambda _: None) for _ in range(40)]
    tickets[0].result(WAIT_S_MAX)
    assert all(ticket.is_done for ticket in tickets)
    assert len(commits) == 1


def test_whoever_waits_is_not_kept_waiting(committer: Committer) -> None:
    for _ in range(3):
        committer.submit(lambda: lambda _: None).result(WAIT_S_MAX)


async def test_whoever_awaits_is_not_kept_waiting_either(committer: Committer) -> None:
    for _ in range(3):
        await committer.submit(lambda: lambda _: None)


def test_the_end_hurries_too(committer: Committer, commits: list[None]) -> None:
    ticket = committer.submit(lambda: lambda _: None)
    committer.stop()
    assert ticket.is_done
    assert len(commits) == 1
