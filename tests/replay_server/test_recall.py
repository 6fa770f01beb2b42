"""A recorded request that is the live one byte for byte is known without being read, and no other is taken for it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from msgspec.structs import replace

from replay_server.normalise import Rules, told
from replay_server.tape import Tape
from store.core.form import Asked
from store.core.redact import Redactor
from store.reader import Reader
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion, encode
from tests.replay_server.walking import raw

HEADERS = (
    (b"Content-Type", b"application/json"), (b"Accept", b"application/json"), (b"X-Request-Id", b"r-1"),
    (b"User-Agent", b"an agent"),
)  # fmt: skip
BODY = encode(chat(("user", "q"), ("assistant", "a")))
ASKED = raw("POST", CHAT + "?b=2&a=1", BODY, HEADERS)


def record(recording: Recording) -> None:
    recording.answer(recording.ask("POST", CHAT + "?b=2&a=1", BODY, HEADERS), completion("b"))


def named(name: bytes, value: bytes) -> Callable[[Asked], Asked]:
    """What puts another value into a header, or the header beside the others."""

    def change(asked: Asked) -> Asked:
        kept = [(each, said) for each, said in asked.headers if each.lower() != name.lower()]
        return replace(asked, headers=(*kept, (name, value)))

    return change


@pytest.fixture
def run(place: Place) -> str:
    return place.record(record)


@pytest.mark.parametrize(
    "change",
    [
        lambda asked: asked,
        named(b"X-Request-Id", b"r-2"),
        named(b"User-Agent", b"claude-cli/1.0 (external, cli)"),
        named(b"Accept", b"text/event-stream"),
        named(b"Content-Type", b"text/plain"),
        named(b"Content-Encoding", b"identity"),
        named(b"OpenAI-Beta", b"assistants=v2"),
        lambda asked: replace(asked, query=b"a=1&b=2"),
        lambda asked: replace(asked, query=b""),
        lambda asked: replace(asked, body=b" " + asked.body),
        lambda asked: replace(asked, body=asked.body.replace(b'"q"', b'"r"')),
        lambda asked: replace(asked, body=b""),
        lambda asked: replace(asked, endpoint=asked.endpoint._replace(path=b"/v1/other")),
    ],
)
def test_what_was_heard_changes_nothing_of_what_a_recorded_request_is(
    change: Callable[[Asked], Asked], place: Place, run: str
) -> None:
    rules = Rules.of(["body /messages/0/content", "query b"])
    live = told(change(ASKED), Redactor()).asked
    with Reader.open(place.store, place.keys) as reader:
        hears, reads = (Tape(reader, reader.run(run), rules) for _ in range(2))
        hears.hear(live, rules.normal(live))
        assert hears.normal(0) == reads.normal(0)
        assert hears.asked(0) == reads.asked(0)
        assert (hears.headers(0), hears.used) == (reads.headers(0), reads.used)


@pytest.mark.parametrize("same", [True, False])
def test_the_bytes_of_a_request_that_is_asked_again_are_not_needed(same: bool, place: Place, run: str) -> None:
    live = told(ASKED if same else replace(ASKED, body=BODY + b" "), Redactor()).asked
    with closing(sqlite3.connect(place.store / "edgetape.db")) as connection, connection:
        connection.execute("DELETE FROM blocks")
    with Reader.open(place.store, place.keys) as reader:
        tape = Tape(reader, reader.run(run), Rules())
        tape.hear(live, tape.rules.normal(live))
        assert (tape.form(0) == tape.rules.normal(live).form, tape.gone == {}) == (same, same)
