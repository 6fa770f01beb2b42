"""The side-effect registry: what a rule covers, what goes live, and what never does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay_server.modes import NotAllowed
from replay_server.registry import Class, Deed, Registry, Rule
from store.core.form import Endpoint
from store.labels.classify import request_labels

EFFECTS: dict[str, Class] = {"GET": "read", "PUT": "idempotent", "POST": "write"}


def deed(
    method: str = "GET",
    path: str = "/rows.json",
    host: str = "tools.example.com",
    *,
    tool: str = "rows.json",
    is_model: bool = False,
) -> Deed:
    return Deed(host, 443, method, path, tool, "read" if is_model else EFFECTS[method], is_model)


MODEL = deed("POST", "/v1/messages", "api.example.com", is_model=True)


def test_without_a_rule_only_the_recordings_models_go_live() -> None:
    registry = Registry().with_models([("api.example.com", 443)])
    assert registry.rule(MODEL).is_live
    for other in (deed(), deed(host="api.example.com"), deed(host="api.example.org", is_model=True)):
        assert registry.rule(other).why == "no rule lets it go live"


@pytest.mark.parametrize(
    "rule, asked, is_live",
    [
        ("host=tools.example.com", deed(), True),
        ("host=tools.example.com:443", deed(), True),
        ("host=tools.example.com:80", deed(), False),
        ("host=*.example.com", deed("PUT"), True),
        ("host=tools.example.com", deed("POST"), False),
        ("host=tools.example.com method=POST", deed("POST"), False),
        ("host=tools.example.com class=write", deed("POST"), True),
        ("method=post class=read", deed("POST"), True),
        ("tool=rows*", deed(), True),
        ("tool=send_mail class=write", deed("POST"), False),
        ("path=/v1/*", deed(), False),
        ("host=*", deed(path="/x", tool=""), True),
    ],
)
def test_a_write_goes_live_only_where_a_rule_says_write(rule: str, asked: Deed, is_live: bool) -> None:
    assert Registry.of([rule]).rule(asked).is_live == is_live


def test_the_first_rule_that_covers_a_request_decides() -> None:
    registry = Registry.of(["path=/admin/* live=no", "host=tools.example.com"])
    assert registry.rule(deed()).is_live
    held = registry.rule(deed(path="/admin/users"))
    assert (held.is_live, held.why) == (False, "a rule keeps it back (path=/admin/* live=no)")
    models = Registry.of(["host=api.example.com live=no"]).with_models([("api.example.com", 443)])
    assert not models.rule(MODEL).is_live


@pytest.mark.parametrize("text", ["", "tools.example.com", "class=write", "host=", "color=red", "host=a class=odd"])
def test_a_rule_that_cannot_be_read_says_how_to_write_one(text: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        Registry.of([text])
    assert caught.value.hint


@pytest.mark.parametrize("word", ["live=maybe", "repeat=1"])
def test_a_switch_is_yes_or_no(word: str) -> None:
    with pytest.raises(NotAllowed):
        Rule.parse(f"host=a {word}")


def test_what_a_request_does_is_unknown_until_it_is_known() -> None:
    place = Endpoint("POST", "https", "tools.example.com", 443, b"/search")
    labels = request_labels(b"POST", b"https", b"tools.example.com", 443, b"/search", (), b"{}")
    assert labels.effect == "unknown"
    assert Deed.of(place, labels).effect == "write"


@given(st.sampled_from(["GET", "PUT", "POST"]), st.sampled_from(["/a", "/b/c"]), st.sampled_from(["", "mail"]))
def test_the_rule_that_is_printed_lets_the_request_out_and_reads_back(method: str, path: str, tool: str) -> None:
    asked = deed(method, path, tool=tool)
    printed = Registry().allowing(asked)
    assert Registry.of([printed]).rule(asked).is_live
    assert str(Rule.parse(str(Rule.parse(printed)))) == str(Rule.parse(printed))
