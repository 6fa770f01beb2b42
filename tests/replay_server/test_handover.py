"""Which messages to a tool server on stdin and stdout a fork passes on, and what a server that starts late is told."""

from replay_server.branch import Start
from replay_server.findings import Forked, Withheld
from replay_server.handover import Handover, On
from replay_server.injection import Injection
from replay_server.match import Tier
from replay_server.pairing import Pairing
from replay_server.registry import Registry
from replay_server.standins import StandIns
from replay_server.ventures.fork import Fork
from store.core import rpc
from store.core.control.calls import Passed
from store.core.redact import Redactor

HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
SEND = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send","arguments":{"to":"x"}}}'


def handover(*rules: str, forked: bool = True, kept_back: tuple[str, ...] = ()) -> Handover:
    fork = Fork(0, Registry.of(rules), Injection(status=500), lambda _: False, has_forked=forked)
    standins = StandIns("run", Redactor(), Pairing())
    made = Handover(Start(fork, 0, kept_back=kept_back), standins, Forked(1, ""))
    for line in (HELLO, READY):
        assert made.heard(*said(line)) is None
    return made


def said(line: bytes) -> tuple[Passed, rpc.Message]:
    return Passed("Mailer", "to_server", line), rpc.message(line)


def ask(made: Handover, line: bytes, tier: Tier = Tier.UNEXPECTED, *, done: bool = False) -> On | Withheld | None:
    return made.ask(*said(line), tier, 7, done=done)


def test_a_server_that_starts_late_is_greeted_once_and_then_all_passes_but_requests() -> None:
    made = handover("host=mailer class=write")
    assert ask(made, SEND) == On((HELLO, READY))
    assert ask(made, LIST) == On()
    assert made.heard(*said(READY)) == On()
    answer = Passed("Mailer", "to_client", b'{"jsonrpc":"2.0","id":2,"result":{}}')
    assert made.heard(answer, rpc.message(answer.message)) == On()
    assert made.heard(*said(SEND)) is None
    first, _ = made.found.live
    assert (first.step, first.place, first.effect) == (7, "tools/call send on the tool server Mailer", "write")


def test_a_server_that_starts_late_hears_the_conversation_so_far_but_no_call_that_does_something() -> None:
    made = handover(
        "host=mailer tool=look class=read", "host=mailer tool=again class=write repeat=yes", "host=mailer class=write"
    )
    calls = [
        SEND.replace(b'"send"', b'"%s"' % tool).replace(b":2,", b":%d," % at)
        for at, tool in enumerate((b"look", b"send", b"again"), 3)
    ]
    answer = b'{"jsonrpc":"2.0","id":"s1","result":{"roots":[]}}'
    for line in (LIST, *calls, answer):
        assert made.heard(*said(line)) is None
    assert ask(made, SEND) == On((HELLO, READY, LIST, calls[0], calls[2]))
    assert ask(made, calls[1]) == On()


def test_without_a_rule_an_equal_call_is_recorded_and_another_is_held_back_with_the_rule() -> None:
    made = handover()
    assert ask(made, SEND, Tier.SAME) is None
    held = ask(made, SEND, Tier.DRIFTED)
    assert isinstance(held, Withheld)
    assert held.rule == "host=mailer tool=send class=write"
    assert isinstance(ask(handover(held.rule), SEND, Tier.DRIFTED), On)


def test_a_rule_that_names_no_class_lets_no_call_of_a_tool_out() -> None:
    made = handover("host=mailer")
    assert isinstance(ask(made, LIST), On)
    assert isinstance(ask(made, SEND), Withheld)


def test_a_call_that_was_done_is_not_done_again() -> None:
    assert ask(handover("host=mailer class=write"), SEND, Tier.SAME, done=True) is None
    assert isinstance(ask(handover("host=mailer class=write repeat=yes"), SEND, Tier.SAME, done=True), On)


def test_a_stand_in_is_never_passed_on() -> None:
    held = ask(handover("host=* class=write", kept_back=("stand-in-0123",)), SEND.replace(b'"x"', b'"stand-in-0123"'))
    assert isinstance(held, Withheld)
    assert "stand-in" in held.why


def test_before_the_fork_nothing_is_passed_on() -> None:
    assert ask(handover("host=* class=write", forked=False), SEND) is None
