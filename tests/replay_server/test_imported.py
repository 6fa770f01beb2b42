"""What other tools recorded replays at once: as it was, and refused by name where the file does not hold it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from replay_server.answer import Live
from replay_server.report import Report
from replay_server.server import ReplayOptions, ReplayServer
from replay_server.sockets.dialogue import Dialogue
from replay_server.sockets.turn import Say
from store.core.redact import Content, Redactor
from store.exchange import exchanges
from store.foreign import sniff
from store.foreign.intake import File, take_in
from store.foreign.recording import Answer, Exchange, Failure, Goodbye, Message, Origin, Recording, asked
from store.reader import Reader
from store.writer import Writer
from tests.replay_server.cassettes import CASSETTES, Taken, as_yaml, cassettes
from tests.replay_server.recording import Place, chat, completion, encode
from tests.replay_server.walking import ask
from tests.support.sample import Sample

CHAT = "https://api.openai.com/v1/chat/completions"
UPGRADE = ((b"Upgrade", b"websocket"), (b"Connection", b"Upgrade"))
JSON = ((b"Content-Type", b"application/json"),)


def taken_in(writer: Writer, recording: Recording) -> str:
    return take_in(writer, File("chat", "chat.yaml", b"the file"), recording, Redactor())


async def walked(place: Place, recording: Recording, requests: Sequence[Exchange]) -> tuple[list[bytes], Report]:
    """The bodies that a replay of an import answers with, and its report."""
    writer = place.writer()
    try:
        run = taken_in(writer, recording)
    finally:
        writer.close()
    async with place.replaying(run) as server:
        got = [ask(server.session, "POST", CHAT, each.asked.body, each.asked.headers)[2] for each in requests]
        return got, await server.stop(0)


def exchange(question: str, outcome: Answer | Failure) -> Exchange:
    about = asked("POST", CHAT, JSON, encode(chat(("user", question))))
    assert about is not None
    return Exchange(about, outcome)


async def test_an_imported_run_replays_clean(place: Place) -> None:
    made = [exchange(text, Answer(200, JSON, completion(text))) for text in ("one", "two")]
    got, report = await walked(place, Recording(Origin("vcr", "vcrpy"), made), made)
    assert got == [completion("one"), completion("two")]
    assert (report.exit_code, report.counts["matched"]) == (0, 2), report.text()


async def test_an_answer_that_is_kept_decoded_is_served_without_its_coding(place: Place) -> None:
    headers = (*JSON, (b"Content-Encoding", b"gzip"), (b"Content-Length", b"7"))
    made = [exchange("one", Answer(200, headers, completion("one"), decoded=True))]
    writer = place.writer()
    run = taken_in(writer, Recording(Origin("vcr", "vcrpy"), made))
    writer.close()
    async with place.replaying(run) as server:
        status, head, body = ask(server.session, "POST", CHAT, made[0].asked.body, JSON)
    assert (status, body) == (200, completion("one"))
    assert b"content-encoding" not in head.lower()
    assert b"Content-Length: %d\r\n" % len(body) in head


async def test_an_event_stream_is_served_event_by_event(place: Place) -> None:
    stream = ((b"Content-Type", b"text/event-stream; charset=utf-8"),)
    events = [b"event: a\ndata: 1\n\n", b": ping\r\n\r\n", b"data: 2\r\n\r\n", b"data: the file lost its end"]
    made = [exchange("one", Answer(200, stream, b"".join(events))), exchange("two", Answer(200, JSON, b"\n\n{}"))]
    writer = place.writer()
    run = taken_in(writer, Recording(Origin("vcr", "vcrpy"), made))
    writer.close()
    async with place.replaying(run) as server:
        answers = [server.session.tape.outcome(index) for index in (0, 1)]
    assert [[chunk.length for chunk in getattr(one, "chunks", ())] for one in answers] == [list(map(len, events)), []]


async def test_what_the_file_does_not_hold_is_refused_by_name(place: Place) -> None:
    made = [exchange("one", Answer(200, JSON, missing_bytes=900)), exchange("two", Failure("dns", "no such host"))]
    got, report = await walked(place, Recording(Origin("har", "Chrome"), made), made)
    assert b"the recorded answer of step 1 is not whole" in got[0]
    assert b"no such host" in got[1]
    assert report.exit_code == 125


async def test_a_request_whose_body_the_file_does_not_hold_is_answered_whatever_its_body_is(place: Place) -> None:
    known = exchange("one", Answer(200, JSON, completion("one")))
    unknown = replace(
        exchange("two", Answer(200, JSON, completion("two"))),
        asked=structs.replace(known.asked, body=b""),
        missing_bytes=9,
    )
    other = exchange("three", Answer(200, JSON))
    made = Recording(Origin("har", "Chrome"), [known, unknown])
    got, report = await walked(place, made, [other, known])
    assert got == [completion("two"), completion("one")]
    assert report.exit_code == 0, report.text()


async def test_a_secret_in_the_file_never_reaches_the_store(place: Place) -> None:
    secret = b"sk-" + b"proj-" + b"Zq3" * 16
    made = [exchange("one", Answer(200, JSON, b'{"api_key": "%s"}' % secret))]
    headers = (*JSON, (b"Authorization", b"Bearer " + secret))
    made.append(replace(made[0], asked=structs.replace(made[0].asked, headers=headers)))
    writer = place.writer()
    taken_in(writer, Recording(Origin("vcr", "vcrpy"), made))
    writer.close()
    with Reader.open(place.store, place.keys) as reader:
        run = next(iter(reader.runs()))
        kept = [repr(event.facts).encode() for event in reader.events(run.id)]
        for step in exchanges(reader.events(run.id)):
            assert step.outcome is not None
            assert step.response is not None
            kept.append(reader.body(step.outcome, step.response.body))
    assert b"<edgetape:" in b"".join(kept)
    assert not any(secret in each for each in kept)


async def test_an_imported_websocket_speaks_again(place: Place) -> None:
    about = asked("GET", "wss://w.example.com/ws", UPGRADE, b"")
    assert about is not None
    spoken = (Message(b'"hello"', from_client=True, is_text=True), Message(b'"you"', from_client=False, is_text=True))
    made = Exchange(about, Answer(101, UPGRADE), messages=spoken, goodbye=Goodbye())
    writer = place.writer()
    run = taken_in(writer, Recording(Origin("har", "Chrome"), [made]))
    writer.close()
    async with place.replaying(run) as server:
        dialogue = server.session.ask(about, Live("GET", opens_socket=True), placed=True)
        assert isinstance(dialogue, Dialogue)
        dialogue.opening.sent("complete")
        assert dialogue.turn() == "listen"
        dialogue.hear(b'"hello"', is_text=True)
        turn = dialogue.turn()
        assert isinstance(turn, Say)
        assert turn.raw == b'"you"'


@pytest.mark.skipif(not CASSETTES.is_file(), reason="EDGETAPE_TEST_DATA names no recordings")
async def test_every_exchange_of_real_cassettes_is_imported_and_answered(place: Place, sample: Sample) -> None:
    every = list(cassettes())
    chosen = sample.source().sample(every, sample.count(40, len(every)))
    writer = place.writer()
    try:
        with Reader.open(place.store, place.keys) as reader:
            wrong = [fault for source, taken in chosen for fault in faults(place, reader, writer, source, taken)]
    finally:
        writer.close()
    assert wrong == []
    sample.measured(f"{sum(len(taken) for _, taken in chosen)} exchanges of {len(chosen)} cassettes")


def faults(place: Place, reader: Reader, writer: Writer, source: str, taken: list[Taken]) -> list[str]:
    """Where a cassette is not answered as it was recorded."""
    content = as_yaml(taken)
    run = take_in(writer, File(source, source, content), sniff.read(content), Redactor())
    server = ReplayServer(reader, writer, reader.run(run), place.authority, ReplayOptions())
    found = []
    for number, one in enumerate(taken, start=1):
        if not one.url.startswith("http") or Redactor().body(one.answer, Content.of(one.answer_headers)).marks:
            continue  # an address that is blotted out is left out, and said to be; a password is not served again
        status, head, body = ask(server.session, one.method, one.url, one.body, one.headers)
        if (status, content_of(head, body)) != (one.status, one.answer):
            found.append(f"{source} {number}: {status} {body[:200]!r}")
    return found


def content_of(head: bytes, body: bytes) -> bytes:
    """A body without its transfer coding."""
    if b"transfer-encoding: chunked" not in head.lower():
        return body
    content = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        content, body = content + rest[:length], rest[length + 2 :]
    return content
