"""Conversations, their lanes, and what of the order has to be kept."""

from replay_server.order import Lanes, Order, conversation, missing
from store.core.form import Form
from tests.replay_server.asking import CHAT, chat, got, posted


def lanes(*forms: Form) -> Lanes:
    made = Lanes()
    for index, form in enumerate(forms):
        said = conversation(form)
        if said is not None:
            made.place(index, form.endpoint, said)
    return made


def test_a_tool_request_is_no_conversation() -> None:
    assert conversation(posted({"q": "a"})) is None
    assert conversation(got("/a")) is None
    assert conversation(posted({"input": "a"})) is None


def test_each_dialect_has_a_conversation() -> None:
    for body in (
        {"model": "m", "messages": [{"role": "user", "content": "a"}]},
        {"model": "m", "input": "a"},
        {"model": "m", "input": [{"role": "user", "content": "a"}]},
        {"contents": [{"parts": [{"text": "a"}]}]},
        {"model": "m", "prompt": "a"},
    ):
        said = conversation(posted(body))
        assert said is not None
        assert len(said.messages) == 1


def test_the_system_prompt_is_part_of_the_frame() -> None:
    one, other = (conversation(chat(("system", text), ("user", "a"))) for text in ("x", "y"))
    assert one is not None
    assert other is not None
    assert one.messages == other.messages
    assert one.frame["system"] != other.frame["system"]
    assert one.common_prefix(other) == 1


def test_a_request_belongs_to_the_lane_that_it_extends() -> None:
    a1, b1 = [("user", "a")], [("user", "b")]
    a2, b2 = [*a1, ("assistant", "1"), ("user", "2")], [*b1, ("assistant", "1"), ("user", "2")]
    made = lanes(chat(*a1), chat(*b1), chat(*b2), chat(*a2), chat(*a2))
    assert [made.parent(index) for index in range(5)] == [None, None, 1, 0, 0]


def test_another_system_prompt_is_another_lane() -> None:
    made = lanes(chat(("system", "x"), ("user", "a")), chat(("system", "y"), ("user", "a"), ("assistant", "b")))
    assert made.parent(1) is None


def test_only_a_dependency_is_order() -> None:
    made = lanes(chat(("user", "a")), chat(("user", "a"), ("assistant", "b")), chat(("user", "z")))

    def before(index: int, order: Order, asked: set[int], first: int | None) -> int | None:
        return missing(index, order, made, asked, first)

    assert before(1, "causal", set(), 0) == 0
    assert before(1, "causal", {0}, 1) is None
    assert before(2, "causal", set(), 0) is None
    assert before(2, "strict", set(), 0) == 0
    assert before(2, "strict", {0, 1}, 2) is None
    assert before(1, "any", set(), 0) is None
    assert CHAT.method == "POST"
