"""Child runs are answered from the recorded children, whichever of them comes first."""

from itertools import permutations

import pytest

from replay_server.server import ReplayOptions, ReplayServer
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion, encode
from tests.replay_server.walking import JSON, ask

NAMES = ("red", "green", "blue")


def family(recording: Recording) -> None:
    recording.post(CHAT, chat(("user", "plan")), completion("go"))
    children = [recording.child(name) for name in NAMES]
    for turn in range(2):
        for name, child in zip(NAMES, children, strict=True):
            child.post(CHAT, chat(("user", f"{name} {turn}")), completion(f"{name} {turn}"))
            child.answer(child.ask("GET", "http://t.example.com/same", headers=JSON), name.encode())
    for child in children:
        child.close()
    recording.post(CHAT, chat(("user", "sum up")), completion("done"))


def tagged(run: str) -> tuple[tuple[bytes, bytes], ...]:
    return (*JSON, (b"X-Edgetape-Run", run.encode()))


def walk(server: ReplayServer, order: tuple[str, ...], tag: str) -> None:
    session = server.session
    assert b"go" in ask(session, "POST", CHAT, encode(chat(("user", "plan"))), tagged(server.run))[2]
    for turn in range(2):
        for name in order:
            said = tagged(tag.format(name))
            assert name.encode() in ask(session, "POST", CHAT, encode(chat(("user", f"{name} {turn}"))), said)[2]
            assert ask(session, "GET", "http://t.example.com/same", b"", said)[2] == name.encode()
    assert b"done" in ask(session, "POST", CHAT, encode(chat(("user", "sum up"))))[2]


@pytest.mark.parametrize("tag", ["{}", "another {}"])
@pytest.mark.parametrize("order", list(permutations(NAMES))[::2])
async def test_three_children_started_in_any_order_replay_clean(place: Place, order: tuple[str, ...], tag: str) -> None:
    async with place.replaying(place.record(family)) as server:
        walk(server, order, tag)
        report = await server.stop(0)
    assert (report.exit_code, report.counts["matched"], report.counts["exchanges"]) == (0, 14, 14), report.text()


async def test_a_child_that_did_not_come_is_named(place: Place) -> None:
    async with place.replaying(place.record(family)) as server:
        report = await server.stop(0)
    assert report.counts["never_requested"] == 14
    assert "never requested: step 1, POST https://api.openai.com/v1/chat/completions (child run green)" in report.lines


async def test_a_child_that_was_not_recorded_is_no_recorded_one(place: Place) -> None:
    options = ReplayOptions(on_drift="serve")
    async with place.replaying(place.record(family), options) as server:
        status, _, _ = ask(server.session, "GET", "http://t.example.com/new", b"", tagged("stranger"))
        assert status == 422
        assert (await server.stop(0)).counts["unexpected"] == 1
