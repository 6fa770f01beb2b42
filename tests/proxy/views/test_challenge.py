"""A server that keeps the recorder out as a bot is told from one that refuses for reasons of its own."""

from pathlib import Path

from proxy.views.challenge import challengers
from store.exchange import steps
from store.reader import Reader
from tests.replay_server.recording import Place, Recording

HTML = (b"Content-Type", b"text/html")
CHALLENGE = (b"cf-mitigated", b"challenge")


def test_c114_a_server_that_answers_with_a_challenge_is_named_with_its_first_step(tmp_path: Path) -> None:
    def tell(recording: Recording) -> None:
        recording.get("https://plain.example/", b"no", status=403, headers=(HTML,))
        recording.get("https://chat.example/", b"ok", headers=((b"CF-Mitigated", b"challenge"),))
        for _ in range(2):
            recording.get("https://chat.example/", b"<html>", status=403, headers=(HTML, CHALLENGE))
        recording.get("https://shop.example/", b"", status=202, headers=((b"x-amzn-waf-action", b"Challenge"),))
        recording.get("https://odd.example/", b"", status=403, headers=((b"cf-mitigated", b"block"),))
        recording.fail(recording.ask("GET", "https://gone.example/"), "connect")

    place = Place(tmp_path)
    run = place.record(tell)
    with Reader.open(place.store, place.keys) as reader:
        assert challengers(steps(reader.events(run)), reader) == {"chat.example": 3, "shop.example": 5}
