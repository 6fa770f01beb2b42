"""A replay waits only where it is told to, and names time as the cause where the recording bears that out."""

from datetime import UTC, datetime, timedelta

import pytest

from replay_server import patience
from replay_server.answer import Recorded
from replay_server.server import ReplayOptions
from tests.replay_server.recording import Place, Recording
from tests.replay_server.wires import dial

TOKEN = "http://id.example.com/oauth2/token"
FORM = b"grant_type=client_credentials"
BUSY = "http://api.example.com/busy"
OPENED = datetime(2026, 11, 28, 5, 0, tzinfo=UTC)


async def said(place: Place, tell: object, options: ReplayOptions, *asked: bytes) -> tuple[list[bytes], str, str]:
    """The answers to some requests, the report's lines, and its verdict."""
    answers = []
    async with place.replaying(place.record(tell), options) as server:  # type: ignore[arg-type]
        for raw in asked:
            wire = await dial(server)
            wire.send(raw)
            await wire.end()
            answers.append(wire.received)
        report = await server.stop(0)
    return answers, "\n".join(report.lines), report.verdict


def request(method: str, url: str, body: bytes = b"") -> bytes:
    form = "Content-Type: application/x-www-form-urlencoded\r\n" if body else ""
    return (
        f"{method} {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{form}Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


@pytest.mark.parametrize("no_wait", [False, True])
async def test_c072_an_agent_waits_as_it_was_told_to_unless_that_is_turned_off(place: Place, no_wait: bool) -> None:
    def tell(recording: Recording) -> None:
        waits = ((b"Retry-After", b"30"), (b"retry-after-ms", b"30000"), (b"X-Other", b"30"))
        recording.get(BUSY, b"slow down", status=429, headers=waits)
        recording.get(BUSY, b"done")

    answers, lines, verdict = await said(place, tell, ReplayOptions(no_wait=no_wait), *[request("GET", BUSY)] * 2)
    first = b"Retry-After: 0\r\nretry-after-ms: 0\r\n" if no_wait else b"Retry-After: 30\r\nretry-after-ms: 30000\r\n"
    assert first + b"X-Other: 30\r\n" in answers[0]
    assert ("told to wait for nothing, as asked (--no-wait): step 1" in lines) is no_wait
    assert verdict.startswith("REPLAYED")


async def test_c072_a_poll_that_goes_on_is_told_how_to_end(place: Place) -> None:
    def tell(recording: Recording) -> None:
        recording.get(BUSY, b"running")

    _, lines, _ = await said(place, tell, ReplayOptions(), *[request("GET", BUSY)] * 2)
    assert "the recording answered it last at step 1; --repeat-last gives that answer again" in lines


@pytest.mark.parametrize("lasts, cause", [(b"0", "its tokens were good for 0 s"), (b'"3600"', "")])
async def test_c086_another_token_is_asked_for_because_time_has_passed(place: Place, lasts: bytes, cause: str) -> None:
    def tell(recording: Recording) -> None:
        form = ((b"Content-Type", b"application/x-www-form-urlencoded"),)
        token = b'{"access_token": "abc", "expires_in": ' + lasts + b"}"
        recording.answer(recording.ask("POST", TOKEN, FORM, form), token)

    _, lines, verdict = await said(place, tell, ReplayOptions(), *[request("POST", TOKEN, FORM)] * 2)
    assert "EXHAUSTED" in verdict
    assert ("by its clock the agent needs another" in lines) is bool(cause)
    assert cause in lines


@pytest.mark.parametrize(
    "after, lifetimes, says",
    [
        (timedelta(days=2, hours=1), [3600, None], "2 days old and its tokens were good for 3600 s"),
        (timedelta(hours=1, minutes=5), [None], "1 h 5 min old and its tokens may have run out"),
        (timedelta(minutes=59), [], ""),
        (timedelta(seconds=5), [3600, 4], "5 s old and its tokens were good for 4 s"),
    ],
)
def test_c086_the_age_of_the_recording_says_whether_time_is_the_cause(
    after: timedelta, lifetimes: list[int | None], says: str
) -> None:
    told = patience.expired(OPENED.isoformat(), lifetimes, OPENED + after)
    assert (says in told) if says else told == ""
    assert not says or f"faketime -f -{int(after.total_seconds())}s COMMAND" in told


@pytest.mark.parametrize("body", [b"", b"[]", b'{"expires_in": true}', b'{"expires_in": -1}', b'{"expires_in": 1e9}'])
def test_a_lifetime_that_is_none_is_not_guessed(body: bytes) -> None:
    assert patience.lifetime_s(Recorded(200, b"", (), "length", "complete", body)) is None
