"""An operator's own rules: what a request to hosts of theirs is."""

from collections.abc import Mapping

import pytest

from store.labels import classify
from store.labels.own import NO_RULES, BadOwnRule, parsed
from tests.store.labels.exchanges import post, request

ORDER = {
    "host": "*.erp.example",
    "method": "post",
    "path": "/orders/*",
    "class": "tool",
    "tool": "create_order",
    "effect": "write",
    "receipt": "/order/~1ids/0",
}
RULES = parsed({"rules": [ORDER, {"host": "mind.example", "class": "llm"}, {"host": "*", "path": "/quiet"}]})
JSON = [(b"content-type", b"application/json")]


def test_the_first_rule_that_fits_says_what_a_request_is() -> None:
    labels = RULES.label(post("https://eu.ERP.example/orders/new?x=1", {}))
    assert (labels.kind, labels.tool, labels.effect, labels.boundary) == ("tool", "create_order", "write", "effect")
    assert labels.rules == RULES.version == f"{classify.RULES}+{RULES.digest}"
    mind = RULES.label(post("https://mind.example/think", {}))
    assert (mind.kind, mind.boundary) == ("llm", "decision")


def test_what_no_rule_fits_or_says_stays_as_the_dialects_found_it() -> None:
    asked = request("GET", "https://eu.erp.example/orders/1")
    assert RULES.label(asked) == classify.label(asked)
    quiet, found = (
        RULES.label(request("GET", "https://h.example/quiet")),
        classify.label(request("GET", "https://h.example/quiet")),
    )
    assert (quiet.kind, quiet.tool, quiet.effect, quiet.boundary) == (
        found.kind,
        found.tool,
        found.effect,
        found.boundary,
    )
    assert NO_RULES.label(asked) == classify.label(asked)
    assert NO_RULES.version == classify.RULES


@pytest.mark.parametrize(
    "status, body, expected",
    [
        (201, b'{"order": {"/ids": ["A-17", "B"]}}', "A-17"),
        (201, b'{"order": {"/ids": [17]}}', "17"),
        (201, b'{"order": {"/ids": []}}', None),
        (201, b'{"order": {"/ids": {"0": true}}}', None),
        (201, b"not json", None),
        (500, b'{"order": {"/ids": ["A-17"]}}', None),
    ],
)
def test_the_receipt_is_where_the_rule_says(status: int, body: bytes, expected: str | None) -> None:
    labels = RULES.label(post("https://eu.erp.example/orders/new", {}))
    told = RULES.response_labels(labels, status, JSON, body)
    assert (told.receipt, told.rules) == (expected, RULES.version)


@pytest.mark.parametrize(
    "said",
    [
        {"rules": [{}]},
        {"rules": [{"host": "h", "kind": "tool"}]},
        {"rules": [{"host": "h", "class": "robot"}]},
        {"rules": [{"host": "h", "effect": "maybe"}]},
        {"rules": [{"host": "h", "receipt": "id"}]},
        {"rules": [{"host": 1}]},
        {"rules": ["h"]},
        {"rules": {"host": "h"}},
        {"hosts": []},
    ],
)
def test_a_rule_that_means_nothing_is_one_sentence(said: Mapping[str, object]) -> None:
    with pytest.raises(BadOwnRule) as caught:
        parsed(said)
    assert caught.value.hint


def test_other_rules_have_another_digest_and_the_order_of_members_does_not_count() -> None:
    turned = dict(reversed(ORDER.items()))
    assert parsed({"rules": [ORDER]}).digest == parsed({"rules": [turned]}).digest
    assert parsed({"rules": [ORDER]}).digest != parsed({"rules": [{**ORDER, "tool": "x"}]}).digest
