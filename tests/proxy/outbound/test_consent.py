"""What a live mode may let out is said before anything happens, and needs a yes."""

import pytest

from proxy.border import Misuse
from proxy.outbound.consent import ModelServer, agree, announcement
from proxy.talk import Talk
from replay_server.registry import Registry

SERVERS = [ModelServer("https", "api.example.com", 443, 3), ModelServer("http", "::1", 8080, 1)]


def told() -> list[str]:
    rules = Registry.of(["host=tools.example.com class=write", "tool=mail live=no"])
    registry = rules.with_models((server.host, server.port) for server in SERVERS)
    return list(announcement(8, SERVERS, registry))


def test_every_server_and_rule_is_named() -> None:
    assert told() == [
        "from step 8 on this may leave this machine:",
        "  model requests to https://api.example.com:443 (3 requests in the recording from there on)",
        "  model requests to http://[::1]:8080 (1 request in the recording from there on)",
        "  by rule: host=tools.example.com class=write",
        "  NOT, by rule: tool=mail live=no",
        "everything else is answered from the recording, or refused",
    ]


def test_without_a_terminal_only_yes_is_a_yes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Misuse) as caught:
        agree(Talk(-1), told(), yes=False)
    assert caught.value.hint == "say --yes"
    assert agree(Talk(-1), told(), yes=True)
    assert "https://api.example.com:443" in capsys.readouterr().err
