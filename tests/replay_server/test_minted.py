"""Where a minted value may stand, what it looks like, and what the map of them lets pass."""

from uuid import UUID

import pytest

from replay_server.mapping import Mapping
from replay_server.minted import alike, blanked, shape
from replay_server.provenance import Provenance
from store.core.form import Form
from store.core.jsontext import Node, Number
from tests.replay_server.asking import CHAT, posted

ONE, TWO, THREE = (str(UUID(int=number << 64 | 0xABCDEF << 20 | number)) for number in (17, 18, 19))


def call(id_: object, tool: str = "search", **arguments: object) -> Form:
    return posted(
        {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    )


def pointers(value: object, place: object = None) -> list[str]:
    form = posted(value) if place is None else posted(value, CHAT)
    return [spot.pointer for spot in blanked(form).spots]


@pytest.mark.parametrize(
    "value", ["2026-11-29", "2026-11-29T10:00:00Z", "20261129", "10:31:07", "1732875000", "12.50", "alice", "gpt-4o"]
)
def test_a_date_a_time_a_number_and_a_word_have_no_shape(value: str) -> None:
    assert shape(value) is None
    assert not alike(value, value)


def test_values_are_alike_when_the_same_code_could_have_made_them() -> None:
    assert alike(ONE, TWO)
    assert alike("call_9aBc8dEf7gHi6j", "call_1kLm2nOp3qRs4t")
    assert not alike("call_9aBc8dEf7gHi6j", "toolu_1kLm2nOp3qRs")
    assert not alike(ONE, "0123456789abcdef")
    assert shape(Number("7")) is None


def test_only_the_places_of_ids_are_spots() -> None:
    assert pointers({"idempotency_key": ONE, "customer_id": TWO, "note": THREE}) == ["/body/idempotency_key"]
    said = {
        "model": "m1",
        "metadata": {"session_id": ONE, "user_id": TWO},
        "system": [{"id": ONE, "text": "x"}],
        "messages": [
            {"role": "assistant", "id": ONE, "tool_calls": [{"id": TWO, "function": {"arguments": {"id": THREE}}}]},
            {"role": "tool", "tool_call_id": TWO, "content": THREE},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": TWO, "content": "x"}]},
        ],
    }
    assert pointers(said, CHAT) == [
        "/body/messages/0/id",
        "/body/messages/0/tool_calls/0/id",
        "/body/messages/1/tool_call_id",
        "/body/messages/2/content/0/tool_use_id",
        "/body/metadata/session_id",
    ]


def test_the_session_in_a_string_of_json_is_a_spot_and_the_account_beside_it_is_none() -> None:
    said = {
        "model": "m1",
        "messages": [{"role": "user", "content": "q"}],
        "metadata": {"user_id": f'{{"account_uuid": "{TWO}", "session_id": "{ONE}"}}'},
    }
    assert pointers(said, CHAT) == ["/body/metadata/user_id#/session_id"]


def test_requests_that_differ_in_their_spots_only_have_one_key() -> None:
    assert blanked(call(1, q="a")).key == blanked(call("x-77", q="a")).key
    assert blanked(call(1, q="a")).key != blanked(call(1, q="b")).key
    assert blanked(call(1, id=ONE)).key != blanked(call(1, id=TWO)).key


class Answers:
    """A mapping over recorded forms with what was answered to each."""

    def __init__(self, *exchanges: tuple[Form, str], inputs: tuple[bytes, ...] = ()) -> None:
        self.forms = [form for form, _ in exchanges]
        provenance = Provenance(lambda index: [exchanges[index][1].encode()], inputs)
        self.mapping = Mapping(lambda index: self.forms[index], provenance)

    def ask(self, index: int, live: Form) -> bool:
        was, now = blanked(self.forms[index]), blanked(live)
        assert was.key == now.key
        fits = self.mapping.fits(index, was, now, live.endpoint)
        if fits:
            self.mapping.learn(was, now, live.endpoint)
            self.mapping.serve(index, same=False)
        return fits


def keyed(value: Node) -> Form:
    return posted({"idempotency_key": value, "amount": 5})


def test_a_new_value_is_mapped_and_a_second_partner_is_not() -> None:
    made = Answers((keyed(ONE), "ok"), (keyed(ONE), "ok"), (keyed(TWO), "ok"))
    assert made.ask(0, keyed(THREE))
    assert not made.ask(1, keyed(TWO))
    assert made.ask(1, keyed(THREE))
    assert not made.ask(2, keyed(THREE))


def test_a_value_that_came_from_an_answer_has_to_come_back_equal() -> None:
    made = Answers((posted({}), f'{{"token": "{ONE}"}}'), (keyed(ONE), "ok"))
    assert not made.ask(1, keyed(TWO))


def test_a_value_that_a_served_answer_had_is_not_minted() -> None:
    made = Answers((keyed(ONE), f"made {TWO}"), (keyed(THREE), "ok"))
    made.mapping.serve(0, same=True)
    assert not made.ask(1, keyed(TWO))


def test_a_value_of_the_command_line_is_not_minted() -> None:
    assert not Answers((keyed(ONE), ""), inputs=(b"agent --key " + ONE.encode(),)).ask(0, keyed(TWO))


def test_what_was_equal_once_stays_equal() -> None:
    made = Answers((keyed(ONE), "ok"), (keyed(ONE), "ok"))
    made.mapping.serve(0, same=True)
    assert not made.ask(1, keyed(TWO))


def test_a_cancellation_has_to_name_the_request_that_it_named() -> None:
    def cancel(id_: int) -> Form:
        return posted({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}})

    made = Answers((call(1), "ok"), (call(2), "ok"), (cancel(2), "ok"))
    assert made.ask(0, call(8))
    assert made.ask(1, call(9))
    assert not made.ask(2, cancel(8))
    assert made.ask(2, cancel(9))
