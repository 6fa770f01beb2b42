"""The harness answers line by line, and nothing that is asked of it ends it."""

import asyncio
import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from proxy.cli import run
from proxy.harness.desk import Desk
from proxy.harness.lines import Replay, wish
from proxy.harness.terms import Terms
from proxy.options import Shared
from proxy.talk import Talk
from store.core.errors import Malformed
from tests.proxy.tape import Folders, folders, record_tape


def test_a_line_is_typed_and_an_odd_one_refused() -> None:
    said = wish(b'{"do": "replay", "tape": "x.tape", "pid": 1, "environment": {}, "order": "any"}')
    assert said == Replay(tape="x.tape", pid=1, environment={}, order="any")
    for line in (b"", b"[]", b'{"do": "go"}', b'{"do": "end"}', b'{"do": "end", "session": "1", "more": 1}', b"\xff"):
        with pytest.raises(Malformed):
            wish(line)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    place = folders(tmp_path)
    values = {"store": place.store, "keys": place.keys, "authority": place.authority, "config": tmp_path / "none"}
    shared = Shared({**values, "quiet": False, "verbose": False, "color": "never"})
    return Desk(Talk(), shared, Terms("somebody"), tmp_path / "folder")


async def ask(desk: Desk, **said: object) -> dict[str, Any]:
    return await desk.answer(json.dumps(said).encode() + b"\n")


async def test_two_sessions_over_one_tape_know_nothing_of_each_other(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    record_tape(Folders(tmp_path / "store", tmp_path / "keys", tmp_path / "authority"))
    place = folders(tmp_path)
    tape = tmp_path / "one.tape"
    assert await asyncio.to_thread(run, [*place.options, "pin", "last", "-o", str(tape)]) == 0
    about: dict[str, Any] = {"tape": str(tape), "pid": os.getpid(), "environment": {"PATH": os.environ["PATH"]}}
    first, second = [await ask(desk, do="replay", **about) for _ in range(2)]
    assert first["port"] != second["port"]
    assert first["environment"]["API_TOKEN"] == "edgetape-stand-in-for-api-token"
    assert "SSL_CERT_FILE" in first["environment"]
    await asyncio.to_thread(get, int(first["port"]))
    ended = [await ask(desk, do="end", session=one["session"]) for one in (first, second)]
    assert [one["report"]["counts"]["unexpected"] for one in ended] == [1, 0]
    assert [one["clean"] for one in ended] == [False, False]
    assert "UNCONFINED" in ended[0]["verdict"]
    assert "no session" in (await ask(desk, do="end", session=first["session"]))["error"]
    assert "cannot be read" in (await ask(desk, do="replay", **{**about, "tape": str(tmp_path / "none.tape")}))["error"]
    assert "no line of the harness" in str((await desk.answer(b"nonsense\n"))["error"])
    await desk.close()


def get(port: int) -> None:
    """Asks for what the tape does not have."""
    proxy = urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{port}"})
    try:
        urllib.request.build_opener(proxy).open("http://nowhere.example/", timeout=20)
    except urllib.error.HTTPError as error:
        error.close()
