"""What a replay says on a WebSocket and what it takes for the recorded message, without a socket."""

import json
from collections.abc import Sequence

from replay_server.answer import Live
from replay_server.server import ReplayOptions, ReplayServer
from replay_server.sockets.dialogue import Dialogue
from replay_server.sockets.turn import Leave, Say
from store.core import websocket
from store.core.draft import altered
from store.core.redact import Content
from tests.replay_server.recording import Place, Recording
from tests.replay_server.walking import raw

URL = "https://w.example.com/ws"
UPGRADE = ((b"Upgrade", b"websocket"), (b"Connection", b"Upgrade"))
TOKEN = "ghp_" + "Ab1" * 12
KEYS = ("0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7")


def write(recording: Recording, said: Sequence[tuple[websocket.Direction, object]], url: str = URL) -> None:
    """A socket on which this was said."""
    request = recording.ask("GET", url, headers=UPGRADE)
    recording.answer(request, b"", status=101, framing="none", headers=UPGRADE)
    for direction, value in said:
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        body = recording.redactor.body(content, Content(b"text/plain"))
        draft = websocket.message(body, direction, altered(body), is_text=not isinstance(value, bytes))
        recording.writer.append(recording.run, draft, after=request)
    recording.writer.append(recording.run, websocket.goodbye(4000, "server"), after=request)


def opened(server: ReplayServer) -> Dialogue:
    dialogue = server.session.ask(raw("GET", URL, headers=UPGRADE), Live("GET", opens_socket=True), placed=True)
    assert isinstance(dialogue, Dialogue)
    dialogue.opening.sent("complete")
    return dialogue


def say(dialogue: Dialogue, value: object) -> None:
    dialogue.hear(json.dumps(value).encode(), is_text=True)


def hear(dialogue: Dialogue) -> object:
    turn = dialogue.turn()
    return json.loads(turn.raw) if isinstance(turn, Say) and turn.is_text else turn


async def test_a_token_that_a_message_gave_is_known_when_it_comes_back(place: Place) -> None:
    def tell(recording: Recording) -> None:
        write(recording, [("to_client", {"token": TOKEN}), ("to_server", {"use": TOKEN}), ("to_client", {"ok": TOKEN})])

    async with place.replaying(place.record(tell)) as server:
        dialogue = opened(server)
        given = hear(dialogue)
        assert isinstance(given, dict)
        assert given["token"] not in ("", TOKEN)
        assert dialogue.turn() == "listen"
        say(dialogue, {"use": given["token"]})
        assert hear(dialogue) == {"ok": given["token"]}
        turn = dialogue.turn()
        assert isinstance(turn, Leave)
        assert turn.code == 4000
        dialogue.left(turn)
        assert (await server.stop(0)).exit_code == 0


async def test_an_id_made_up_anew_is_mapped_unless_the_server_gave_it(place: Place) -> None:
    def asked(recording: Recording) -> None:
        write(recording, [("to_server", {"request_id": KEYS[0]}), ("to_client", {"re": KEYS[0]})])

    async with place.replaying(place.record(asked)) as server:
        dialogue = opened(server)
        say(dialogue, {"request_id": KEYS[1]})
        assert hear(dialogue) == {"re": KEYS[1]}
        dialogue.cut()
        assert (await server.stop(0)).exit_code == 0

    def given(recording: Recording) -> None:
        write(recording, [("to_client", {"id": KEYS[0]}), ("to_server", {"request_id": KEYS[0]})])

    async with place.replaying(place.record(given)) as server:
        dialogue = opened(server)
        assert hear(dialogue) == {"id": KEYS[0]}
        say(dialogue, {"request_id": KEYS[1]})
        assert isinstance(dialogue.turn(), Leave)
        assert (await server.stop(0)).exit_code == 40


async def test_binary_is_not_text(place: Place) -> None:
    def tell(recording: Recording) -> None:
        write(recording, [("to_server", b"1"), ("to_client", b"2")])

    run = place.record(tell)
    async with place.replaying(run) as server:
        dialogue = opened(server)
        dialogue.hear(b"1", is_text=False)
        turn = dialogue.turn()
        assert isinstance(turn, Say)
        assert (turn.raw, turn.is_text) == (b"2", False)
        assert (await server.stop(0)).exit_code == 0
    async with place.replaying(run, ReplayOptions(on_drift="serve")) as server:
        say(opened(server), 1)
        assert (await server.stop(0)).counts["drifted"] == 1


async def test_a_message_whose_body_is_gone_is_refused_by_name(place: Place) -> None:
    def tell(recording: Recording) -> None:
        write(recording, [("to_client", {"long": "x" * 2000})])

    run = place.record(tell)
    place.lose_bodies(run)
    async with place.replaying(run) as server:
        turn = opened(server).turn()
        assert isinstance(turn, Leave)
        assert turn.code == 1011
        report = await server.stop(0)
        assert (report.exit_code, report.counts["unserved"]) == (125, 1)
        assert "message 1 of GET https://w.example.com/ws" in report.verdict
