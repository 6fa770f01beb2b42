"""Two recordings side by side: the same, changed, moved, inserted, removed; and what only repeats a change."""

from hypothesis import given
from hypothesis import strategies as st

from replay_server.alignment import Entry, Side, align
from store.core.form import Form
from store.core.jsontext import Node
from tests.replay_server.asking import chat, got, posted


def sides(*forms: Form, answer: str = "yes") -> list[Side]:
    return [Side(step, form.endpoint.place, form, {"text": answer}) for step, form in enumerate(forms, 1)]


def told(entries: list[Entry]) -> list[tuple[str, int | None, int | None]]:
    return [(entry.kind, entry.a.step if entry.a else None, entry.b.step if entry.b else None) for entry in entries]


def test_equal_recordings_have_nothing_to_tell() -> None:
    entries = align(sides(got("/a"), got("/b"), got("/a")), sides(got("/a"), got("/b"), got("/a")))
    assert not any(entry.differs for entry in entries)


def test_ids_that_are_made_up_anew_are_no_difference() -> None:
    one, two = (posted({"request_id": f"0198c0de-0000-7000-8000-00000000000{number}", "q": "x"}) for number in (1, 2))
    assert told(align(sides(one), sides(two))) == [("same", 1, 1)]


def test_a_changed_request_is_named_by_kind_and_place() -> None:
    (entry,) = align(sides(chat(("user", "q"), model="m1")), sides(chat(("user", "q"), model="m2")))
    assert entry.kind == "changed"
    assert [(str(change.kind), change.where) for change in entry.request] == [("model", "body /model")]


def test_what_is_only_in_one_and_what_has_moved() -> None:
    a = sides(got("/a"), got("/b"), got("/c"), got("/d"), got("/e"))
    b = sides(got("/a"), got("/c"), got("/d"), got("/new"), got("/b"))
    assert sorted(told(align(a, b)), key=str) == sorted(
        [
            ("same", 1, 1),
            ("moved", 2, 5),
            ("same", 3, 2),
            ("same", 4, 3),
            ("inserted", None, 4),
            ("removed", 5, None),
        ],
        key=str,
    )


def test_a_change_that_is_only_repeated_follows_from_the_first() -> None:
    talks = [(("user", "q"),), (("user", "q"), ("assistant", "a"), ("user", "r"))]
    a = sides(*(chat(("system", "be terse"), *talk) for talk in talks))
    b = sides(*(chat(("system", "be kind"), *talk) for talk in talks))
    first, second = align(a, b)
    assert (first.follows, len(first.request)) == (None, 1)
    assert (second.follows, second.request) == (1, ())


def test_another_answer_to_the_same_request_is_told_by_its_place() -> None:
    node: dict[str, Node] = {"text": "yes", "calls": [{"name": "f", "arguments": {"code": "GB"}}]}
    other: dict[str, Node] = {"text": "yes", "calls": [{"name": "f", "arguments": {"code": "GB-SCT"}}]}
    form = chat(("user", "q"))
    (entry,) = align([Side(1, "x", form, node)], [Side(1, "x", form, other)])
    assert (entry.kind, entry.differs) == ("same", True)
    assert [found.pointer for found in entry.answer] == ["/calls/0/arguments/code"]


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
def test_every_step_of_either_side_is_told_once(left: list[str], right: list[str]) -> None:
    a, b = (sides(*(got(f"/{name}") for name in names)) for names in (left, right))
    entries = align(a, b)
    assert sorted(entry.a.step for entry in entries if entry.a) == list(range(1, len(left) + 1))
    assert [entry.b.step for entry in entries if entry.b] == list(range(1, len(right) + 1))
    assert any(entry.differs for entry in entries) == (left != right)
