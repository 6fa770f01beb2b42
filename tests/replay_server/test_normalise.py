"""Redaction and rules are applied to the live side as they were to the recorded one."""

import pytest

from replay_server.normalise import Rules, host, told
from replay_server.rules import BadRule, Ignore
from store.core.form import Asked, Endpoint
from store.core.jsontext import Node, opened, parse
from store.core.redact import Redactor

PLACE = Endpoint("POST", "https", "api.example.com", 443, b"/v1/x")


@pytest.mark.parametrize(
    "rule, body, left, count",
    [
        ("body /a", b'{"a":1,"b":2}', b'{"b":2}', 1),
        ("body /a/*/id", b'{"a":[{"id":1,"x":1},{"id":2}]}', b'{"a":[{"x":1},{}]}', 2),
        ("body /a/1", b'{"a":[1,2,3]}', b'{"a":[1,null,3]}', 1),
        ("body /*/id", b'{"a":{"id":1},"b":{"id":2,"c":3}}', b'{"a":{},"b":{"c":3}}', 2),
        ("body /a~1b/c", b'{"a/b":{"c":1}}', b'{"a/b":{}}', 1),
        ("body /none/at/all", b'{"a":1}', b'{"a":1}', 0),
        ("body /a#/id", b'{"a":"{\\"id\\":1,\\"k\\":2}"}', b'{"a":"{\\"k\\":2}"}', 1),
    ],
)
def test_an_ignore_takes_out_what_it_names(rule: str, body: bytes, left: bytes, count: int) -> None:
    document: dict[str, Node] = {"body": opened(parse(body))}
    assert Ignore.parse(rule).remove(document) == count
    assert document["body"] == opened(parse(left))
    assert str(Ignore.parse(rule)) == rule


@pytest.mark.parametrize("rule", ["", "body", "body a", "cookie /x", "/a", "query", "header  "])
def test_a_rule_that_cannot_be_read_is_refused_with_a_hint(rule: str) -> None:
    with pytest.raises(BadRule) as caught:
        Ignore.parse(rule)
    assert "body /messages/0/content" in caught.value.hint


def test_ignored_places_are_counted_by_rule() -> None:
    rules = Rules.of(["query page", "header Accept", "body /id"])
    asked = Asked(PLACE, b"page=3&q=x", ((b"ACCEPT", b"text/html"),), b'{"id":1,"a":2}')
    form, counts = (found := rules.normal(asked)).form, found.counts
    assert counts == {"query page": 1, "header accept": 1, "body /id": 1}
    assert set(form.document) == {"query", "headers", "body"}
    assert form.document["query"] == {"q": "x"}


def test_what_was_for_the_proxy_is_dropped_and_secrets_are_taken_out() -> None:
    headers = (
        (b"Proxy-Authorization", b"Basic cnVuOnRva2Vu"),
        (b"X-Edgetape-Run", b"r"),
        (b"Authorization", b"Bearer sk-live-1234567890"),
        (b"X", b"y"),
    )
    said = told(Asked(PLACE, b"key=AIzaREAL&q=1", headers, b"{}"), Redactor(["sk-live-1234567890"]))
    names = [name.content for name, _ in said.headers]
    assert names == [b"Authorization", b"X"]
    assert b"sk-live" not in said.headers[0][1].content
    assert said.asked.query == b"key=<edgetape:query:1>&q=1"


def test_hosts_are_compared_in_lower_case_without_brackets_and_dot() -> None:
    assert [host(name) for name in ("API.Example.COM.", "[::1]", "x")] == ["api.example.com", "::1", "x"]
