"""A recorded tool server says by itself what it said, where it said it: before an answer, or after the last one."""

from replay_server.normalise import Rules
from replay_server.stdio import Stdio
from store.core.control.calls import Passed
from store.core.event import Event, Place
from store.core.model import RpcMessage
from store.core.rpc import Direction
from store.core.text import Body
from store.exchange import Happening

ASK = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}'
TOLD = b'{"jsonrpc":"2.0","id":%d,"result":{}}'
NOTE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}'
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

type Said = tuple[Direction, bytes]


def recorded(*said: Said) -> Stdio:
    happenings = [
        Happening(
            seq,
            Event(
                Place("01a2", seq, "0" * 64, "2026-11-29T14:03:05.000000Z", seq),
                RpcMessage(server="s", direction=direction, body=Body(body=f"{seq:064}")),
            ),
        )
        for seq, (direction, _) in enumerate(said)
    ]
    return Stdio(happenings, lambda happening: said[happening.event.seq][1], Rules.of(()))


def ask(stdio: Stdio, raw: bytes) -> list[bytes]:
    return list(stdio.answer(Passed("s", "to_server", raw)).lines)


def agent(raw: bytes) -> Said:
    return "to_server", raw


def server(raw: bytes) -> Said:
    return "to_client", raw


def test_what_came_after_the_last_answer_comes_after_it_again() -> None:
    stdio = recorded(agent(ASK % 1), server(NOTE % b"early"), server(TOLD % 1), server(NOTE % b"late"))
    assert ask(stdio, ASK % 7) == [NOTE % b"early", TOLD % 7, NOTE % b"late"]
    assert ask(stdio, READY) == []


def test_what_came_once_the_agent_had_spoken_waits_for_it() -> None:
    said = (agent(ASK % 1), server(TOLD % 1), agent(READY), server(NOTE % b"late"))
    stdio = recorded(*said)
    assert ask(stdio, ASK % 1) == [TOLD % 1]
    assert ask(stdio, READY) == [NOTE % b"late"]


def test_what_came_after_the_answer_to_another_request_waits_for_that() -> None:
    stdio = recorded(
        agent(ASK % 1),
        agent(ASK % 2),
        server(TOLD % 1),
        server(NOTE % b"between"),
        server(TOLD % 2),
        server(NOTE % b"late"),
    )
    assert ask(stdio, ASK % 1) == [TOLD % 1, NOTE % b"between"]
    assert ask(stdio, ASK % 2) == [TOLD % 2, NOTE % b"late"]
