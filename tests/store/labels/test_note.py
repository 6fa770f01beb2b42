"""A note is one line that says what the agent claims."""

import json

import pytest

from store.labels.note import line


@pytest.mark.parametrize(
    "kind, said, words",
    [
        ("decision", {"summary": "ask a person"}, "decision: ask a person"),
        ("state", {"name": "review", "hash": "ab"}, "state: name review, hash ab"),
        ("policy", {"version": "7", "verdict": "approved"}, "policy: verdict approved, version 7"),
        ("approval", {"who": "lead", "subject": "s", "verdict": "yes"}, "approval: verdict yes, subject s, who lead"),
        ("retrieval", {"document_ids": ["a", "b"]}, 'retrieval: document ids ["a", "b"]'),
        ("effect", {"effect": "refund", "committed": True}, "effect: refund, committed"),
        ("effect", {"effect": "refund", "committed": False}, "effect: refund, not committed"),
        ("decision", {"other": 1}, "decision"),
        ("decision", [], "decision"),
    ],
)  # fmt: skip
def test_a_note_is_told_by_what_matters_of_its_kind(kind: str, said: object, words: str) -> None:
    assert line(kind, json.dumps(said).encode()) == words


def test_a_note_that_cannot_be_read_is_told_by_its_kind() -> None:
    assert line("effect", b"\xff") == "effect"
