"""The course of a sandbox: fakes for the servers that the map names, and nothing else that could be reached."""

import pytest

from replay_server.match import Match, Tier
from replay_server.modes import NotAllowed
from replay_server.registry import Deed, Registry
from replay_server.ventures.sandbox import Fakes, Sandbox
from store.core.form import Endpoint

WRITE = Deed("tools.example.com", 443, "POST", "/mail", "mail", "write", False)
OTHER = Deed("other.example.com", 443, "GET", "/rows", "rows", "read", False)
MODEL = Deed("api.example.com", 443, "POST", "/v1/messages", "", "read", True)
MAPPED = ("tools.example.com=http://127.0.0.1:9000/base/", "*.eu.example.com:8443=https://[::1]")


def sandbox(*, models: bool = False) -> Sandbox:
    registry = Registry().with_models([("api.example.com", 443)]) if models else Registry()
    return Sandbox(registry, Fakes.of(MAPPED))


@pytest.mark.parametrize("tier", list(Tier))
def test_what_has_a_fake_goes_to_the_fake_whatever_it_does_and_whatever_was_recorded(tier: Tier) -> None:
    assert sandbox().choose(Match(tier, 3), WRITE).course == "live"


def test_what_has_none_is_answered_from_the_recording_or_ends_the_sandbox() -> None:
    assert sandbox().choose(Match(Tier.SAME, 3), OTHER).course == "replay"
    assert sandbox().choose(Match(Tier.DRIFTED, 3), OTHER).course == "leave"


def test_models_are_recorded_unless_they_are_asked_for() -> None:
    assert sandbox().choose(Match(Tier.SAME, 3), MODEL).course == "replay"
    assert sandbox().choose(Match(Tier.UNEXPECTED), MODEL).course == "leave"
    assert sandbox(models=True).choose(Match(Tier.UNEXPECTED), MODEL).course == "live"


def test_the_fakes_place_takes_the_servers_and_the_path_goes_behind_its_own() -> None:
    asked = Endpoint("POST", "https", "tools.example.com", 443, b"/mail%2Fx")
    assert sandbox().target(asked) == Endpoint("POST", "http", "127.0.0.1", 9000, b"/base/mail%2Fx")
    assert sandbox().target(asked._replace(host="a.eu.example.com")) is None
    there = sandbox().target(asked._replace(host="a.eu.example.com", port=8443))
    assert there == Endpoint("POST", "https", "::1", 443, b"/mail%2Fx")
    assert [sandbox().dials(host, 443) for host in ("tools.example.com", "other.example.com")] == [True, False]


def test_a_fake_may_stand_for_some_paths_of_a_server_and_the_recording_for_the_rest() -> None:
    rows = ("api.example.com/v1/orders/*=http://127.0.0.1:9001", "api.example.com/v1/orders?*=http://127.0.0.1:1/x")
    made = Sandbox(Registry(), Fakes.of(rows))
    order, orders = (Deed("api.example.com", 443, "GET", path, "", "read", False) for path in ("/v1/orders/7", "/v1/x"))
    assert made.choose(Match(Tier.SAME, 3), order).course == "live"
    assert made.choose(Match(Tier.SAME, 3), orders).course == "replay"
    asked = Endpoint("GET", "https", "api.example.com", 443, b"/v1/orders/7")
    assert made.target(asked) == Endpoint("GET", "http", "127.0.0.1", 9001, b"/v1/orders/7")
    assert made.target(asked._replace(path=b"/v1/ordersX")) == Endpoint("GET", "http", "127.0.0.1", 1, b"/x/v1/ordersX")
    assert made.target(asked._replace(path=b"/v1/x")) is None
    assert made.dials("api.example.com", 443)


@pytest.mark.parametrize(
    "text",
    ["", "a.example", "=http://x", "a=x", "a=ftp://x", "a=http://", "a=http://x:99999", "a=http://x?q", "a=http://u@x"],
)
def test_what_is_no_map_is_refused_with_the_form_that_one_has(text: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        Fakes.of([text])
    assert "api.example.com=http://127.0.0.1:9000" in caught.value.hint
