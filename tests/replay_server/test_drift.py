"""A drift names its kind, place and values, and the first cause once."""

import json

import pytest

from replay_server.drift import Causes, Kind, changes, ranges
from replay_server.findings import Findings
from replay_server.normalise import Rules
from store.core.form import Asked, Form, normal
from tests.replay_server.asking import CHAT, JSON, chat, got, posted

TALK = [("system", "be terse"), ("user", "q"), ("assistant", "a"), ("user", "r")]


def only(recorded: Form, live: Form) -> tuple[Kind, str, str]:
    (change,) = changes(recorded, live)
    return change.kind, change.where, change.detail


@pytest.mark.parametrize(
    "live, kind, where",
    [
        (chat(*TALK, model="m2"), Kind.MODEL, "body /model"),
        (chat(*TALK, temperature=0.5), Kind.SETTING, "body /temperature"),
        (chat(("system", "be chatty"), *TALK[1:]), Kind.SYSTEM, "body /messages/0/content"),
        (chat(*TALK[:2], ("assistant", "b"), TALK[3]), Kind.HISTORY, "body /messages/2/content"),
        (chat(*TALK, tools=[{"name": "x"}]), Kind.TOOLS, "body /tools"),
        (chat(*TALK, metadata={"a": 1}), Kind.OTHER, "body /metadata"),
    ],
)
def test_the_kind_of_a_change_in_a_conversation(live: Form, kind: Kind, where: str) -> None:
    assert only(chat(*TALK), live)[:2] == (kind, where)


def test_the_system_prompt_of_other_dialects() -> None:
    for name in ("system", "instructions"):
        recorded, live = (posted({"model": "m", name: said, "messages": []}) for said in ("a", "b"))
        assert only(recorded, live)[:2] == (Kind.SYSTEM, f"body /{name}")


def test_tool_arguments() -> None:
    assert only(posted({"q": "a"}), posted({"q": "b"})) == (Kind.ARGUMENTS, "body /q", "")
    assert only(got("/s", b"q=a"), got("/s", b"q=b")) == (Kind.ARGUMENTS, "query /q", "")


def test_history_truncated_rewritten_extended_and_newest() -> None:
    long = [("user", str(at)) for at in range(9)]
    assert changes(chat(*long), chat(long[0], *long[4:]))[0].detail == "history truncated: 3 of 9 messages are missing"
    assert (
        changes(chat(*long), chat(*long, ("user", "x")))[0].detail == "history extended: 1 more message than recorded"
    )
    assert only(chat(*long), chat(*long[:3], ("user", "x"), *long[4:]))[2] == "history rewritten"
    assert only(chat(*long), chat(*long[:8], ("user", "x")))[2] == "the newest message differs"
    put_in = ("system", "These tools can be had.")
    assert only(chat(*long, put_in), chat(*long[:8], ("user", "x"), put_in))[2] == "the newest message differs"


def test_arguments_inside_a_string_have_a_pointer_of_their_own() -> None:
    def call(city: str) -> Form:
        return posted({"f": json.dumps({"city": city})})

    (change,) = changes(call("Oslo"), call("Bergen"))
    assert change.where == "body /f inside /city"
    assert change.values == ('"Oslo"', '"Bergen"')


def test_what_reaches_furthest_is_told_first() -> None:
    live = chat(("system", "new"), *TALK[1:], model="m2", temperature=1)
    assert [change.kind for change in changes(chat(*TALK), live)] == [Kind.MODEL, Kind.SETTING, Kind.SYSTEM]


PAIRS = [
    (chat(*TALK), chat(("system", "x"), *TALK[1:])),
    (chat(*TALK), chat(*TALK, temperature=0.1)),
    (chat(*TALK), chat(*TALK[:3])),
    (chat(*TALK), chat(*TALK, ("user", "x"))),
    (posted({"q": "a"}), posted({"q": "b"})),
    (got("/s", b"q=a"), got("/s", b"q=b")),
    (posted({"f": json.dumps({"a": [1]})}), posted({"f": json.dumps({"a": [1, 2]})})),
    (posted({"f": json.dumps({"a": 1})}), posted({"f": json.dumps({"a": 2})})),
    (posted({"a/b~c": 1, "x": 1}), posted({"a/b~c": 2, "x": 1})),
    (normal(Asked(CHAT, b"", (*JSON, (b"Accept", b"a/b")), b"{}")), normal(Asked(CHAT, b"", JSON, b"{}"))),
]


@pytest.mark.parametrize("recorded, live", PAIRS)
def test_the_rules_that_a_drift_offers_silence_it(recorded: Form, live: Form) -> None:
    found = changes(recorded, live)
    rules = Rules.of({change.rule for change in found})
    for form in (recorded, live):
        for ignore in rules.ignores:
            ignore.remove(form.document)
    assert recorded.document == live.document


def test_one_early_change_is_one_cause_and_the_rest_follows() -> None:
    found = Findings(10)
    for step in range(3, 9):
        talk = [("user", "q"), *(("assistant", str(at)) for at in range(step))]
        recorded, live = chat(("system", "terse"), *talk), chat(("system", "chatty"), *talk)
        found.drift(step, step * 2, "POST x", changes(recorded, live), "")
    (cause,) = found.drifts
    assert (cause.step, cause.follows) == (3, [4, 5, 6, 7, 8])
    assert ranges(cause.follows) == "4-8"


def test_a_second_change_is_a_cause_of_its_own() -> None:
    causes = Causes()
    first = changes(chat(*TALK), chat(("system", "x"), *TALK[1:]))
    assert causes.sort(1, first) == (first, None)
    both = changes(chat(*TALK), chat(("system", "x"), *TALK[1:3], ("user", "z")))
    new, follows = causes.sort(2, both)
    assert [change.where for change in new] == ["body /messages/3/content"]
    assert follows is None
    assert causes.sort(3, both) == ([], 1)


def test_a_history_that_keeps_being_shortened_is_one_cause() -> None:
    causes = Causes()
    for length in (8, 12, 16):
        long = [("user", str(at)) for at in range(length)]
        new, follows = causes.sort(length, changes(chat(*long), chat(long[0], *long[-3:])))
        assert bool(new) == (length == 8)
        assert follows == (None if length == 8 else 8)


def test_ranges_are_words() -> None:
    assert ranges([9]) == "9"
    assert ranges([14, 9, 10, 12]) == "9-10, 12 and 14"
