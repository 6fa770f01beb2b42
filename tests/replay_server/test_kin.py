"""Child runs are answered from the recorded children, whichever of them comes first."""

import base64
from itertools import permutations

import pytest

from replay_server.server import ReplayOptions, ReplayServer
from tests.replay_server.forking import ask as get
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion, encode
from tests.replay_server.walking import JSON, ask
from tests.replay_server.wires import asking, dial

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


async def test_a_child_that_only_the_user_name_of_its_proxy_url_names_is_that_child(place: Place) -> None:
    async with place.replaying(place.record(family)) as server:

        def by_proxy(name: str) -> str:
            said = base64.b64encode(f"{name}:x".encode()).decode()
            return f"Proxy-Authorization: Basic {said}"

        for turn in range(2):
            for name in NAMES[::-1]:
                body = encode(chat(("user", f"{name} {turn}")))
                assert completion(f"{name} {turn}") in await get(server, "POST", CHAT, body, by_proxy(name))
                wire = await dial(server)
                wire.send(f"CONNECT t.example.com:80 HTTP/1.1\r\n{by_proxy(name)}\r\n\r\n".encode())
                await wire.until(b"\r\n\r\n")
                more = "Content-Type: application/json\r\nAccept: application/json\r\n"
                wire.send(asking("/same", more=more).replace(b"api.", b"t."))
                await wire.until(b"\r\n\r\n" + name.encode())
                wire.close()
        report = await server.stop(0)
    assert report.counts["matched"] == 12, report.text()
    assert report.counts["unexpected"] == 0
