"""What a live mode may let out is said before anything happens, and needs a yes."""

import pytest

from proxy.border import Misuse
from proxy.outbound.consent import ModelServer, agree, announcement
from proxy.talk import Talk
from replay_server.registry import Registry
from replay_server.ventures.sandbox import Fakes

SERVERS = [ModelServer("https", "api.example.com", 443, 3), ModelServer("http", "::1", 8080, 1)]


def told() -> list[str]:
    rules = Registry.of(["host=tools.example.com class=write", "tool=mail live=no"])
    registry = rules.with_models((server.host, server.port) for server in SERVERS)
    fakes = Fakes.of(["api.example.com=http://127.0.0.1:9000/v1", "*.test=https://fake.example.com"])
    opening = "from step 8 on this may leave this machine:"
    filed = ["host=tools.example.com class=write"]
    return list(announcement(opening, SERVERS, registry, since=8, fakes=fakes, filed=filed))


def test_every_server_and_rule_is_named() -> None:
    assert told() == [
        "from step 8 on this may leave this machine:",
        "  requests for api.example.com, to its fake http://127.0.0.1:9000/v1",
        "  requests for *.test, to its fake https://fake.example.com:443",
        "  model requests to https://api.example.com:443 (3 requests in the recording from there on)",
        "  model requests to http://[::1]:8080 (1 request in the recording from there on)",
        "  by rule: host=tools.example.com class=write (edgetape.toml)",
        "  NOT, by rule: tool=mail live=no",
        "everything else is answered from the recording, or refused",
    ]


def test_where_nothing_may_leave_that_is_said() -> None:
    registry = Registry.of([]).with_models([])
    assert list(announcement("this may leave this machine:", [], registry))[1:] == [
        "  nothing",
        "everything else is answered from the recording, or refused",
    ]


def test_without_a_terminal_only_yes_is_a_yes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Misuse) as caught:
        agree(Talk(-1), told(), yes=False)
    assert caught.value.hint == "say --yes"
    assert agree(Talk(-1), told(), yes=True)
    assert "https://api.example.com:443" in capsys.readouterr().err
