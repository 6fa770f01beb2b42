"""What an LLM request repeats is told apart by its parts, however they are spelled."""

from collections.abc import Mapping

import pytest

from replay_server.conversation import Conversation, conversation
from tests.replay_server.asking import CHAT, posted

SAID: Mapping[str, object] = {
    "model": "m1", "temperature": 1, "top_p": 0.5, "system": "be brief",
    "tools": [{"name": "search", "parameters": {"q": "string"}}], "tool_choice": "auto",
    "messages": [{"role": "user", "content": "q"}],
}  # fmt: skip


def heard(said: Mapping[str, object]) -> Conversation:
    found = conversation(posted(said, CHAT))
    assert found is not None
    return found


def test_the_order_of_the_members_is_no_difference() -> None:
    assert heard({name: SAID[name] for name in reversed(list(SAID))}) == heard(SAID)


@pytest.mark.parametrize(
    "member, value, part",
    [
        ("model", "m2", "model"),
        ("top_p", 0.6, "settings"),
        ("system", "be long", "system"),
        ("tool_choice", "none", "tools"),
        ("tools", [], "tools"),
    ],
)
def test_what_differs_is_in_the_part_that_it_belongs_to(member: str, value: object, part: str) -> None:
    was, now = heard(SAID), heard({**SAID, member: value})
    assert {name for name in was.frame if was.frame[name] != now.frame[name]} == {part}
    assert was.messages == now.messages
