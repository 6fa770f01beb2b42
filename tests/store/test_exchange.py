"""Events put together: every request has its step, and what belongs to it is found beside it."""

from store.core.draft import Draft, Sheet
from store.core.model import Gap, HttpError, HttpRequestEnd, TunnelClose, TunnelOpen, WsClose, WsMessage
from store.core.redact import stored
from store.exchange import Exchange, Happening, exchanges, steps
from store.reader import Reader
from tests.support.tape import Call, Tape


def test_overlapping_exchanges_are_told_apart(open_tape: Tape) -> None:
    run = open_tape.open()
    calls = [Call(b"/%d" % number, answer=b"%d" % number) for number in range(4)]
    asked = [open_tape.request(run, call) for call in calls]
    for call, ticket in reversed(list(zip(calls, asked, strict=True))):
        open_tape.answer(run, call, ticket)
    open_tape.writer.close_run(run, "normal").result(30)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        found = exchanges(reader.events(run))
        assert [exchange.step for exchange in found] == [1, 2, 3, 4]
        for number, exchange in enumerate(found):
            assert exchange.response is not None
            assert exchange.outcome is not None
            assert exchange.error is None
            assert exchange.facts.path == f"/{number}"
            assert reader.body(exchange.outcome, exchange.response.body) == b"%d" % number


def test_steps_count_requests_values_and_notes_and_nothing_else(open_tape: Tape) -> None:
    run, writer = open_tape.open(), open_tape.writer
    opened = writer.append(run, Draft(TunnelOpen(host="h", port=1, reason="pinned")))
    asked = open_tape.request(run, Call(), streaming=True)
    open_tape.note(run, b"n")
    writer.append(run, Draft(HttpRequestEnd(req=-1, ended="complete")), after=asked)
    writer.append(run, Draft(HttpError(req=-1, kind="dns")), after=asked)
    writer.append(run, Draft(TunnelClose(open=-1, sent_bytes=1, received_bytes=1, duration_us=1)), after=opened)
    writer.append(run, Draft(Gap(since="", until="", reason="why")))
    last = open_tape.request(run, Call())
    last.result(30)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        found = steps(reader.events(run))
    assert [(type(step).__name__, step.step) for step in found] == [
        ("Happening", None),
        ("Happening", None),
        ("Exchange", 1),
        ("Happening", 2),
        ("Happening", None),
        ("Exchange", 3),
    ]
    tunnel, exchange = found[1], found[2]
    assert isinstance(tunnel, Happening)
    assert tunnel.end is not None
    assert tunnel.end.type == "tunnel.close"
    assert isinstance(exchange, Exchange)
    assert exchange.error is not None
    assert exchange.upload is not None


def test_the_messages_of_a_web_socket_belong_to_its_request(open_tape: Tape) -> None:
    run, writer = open_tape.open(), open_tape.writer
    asked = open_tape.request(run, Call())
    open_tape.answer(run, Call(status=101), asked)
    for content in (b"one", b"two"):
        sheet = Sheet()
        body = sheet.apart(stored(content))
        message = WsMessage(req=-1, direction="to_server", opcode="text", body=body)
        writer.append(run, sheet.draft(message), after=asked)
    writer.append(run, Draft(WsClose(req=-1, code=1000, by="client")), after=asked).result(30)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        (exchange,) = exchanges(reader.events(run))
    assert [event.type for event in exchange.messages] == ["ws.message", "ws.message", "ws.close"]
