"""What two recordings of one agent teach: rules for what differs by nature, and none for what came from an answer."""

from collections.abc import Callable

import pytest

from replay_server.learning import Learned, learn
from replay_server.normalise import Rules
from replay_server.tape import Tape
from store.reader import Reader
from tests.replay_server.recording import CHAT, Place, Recording, chat, completion

TOOL = "http://t.example.com/work"

type Tell = Callable[[Recording], None]


def learned(place: Place, *tells: Tell) -> Learned:
    runs = [place.record(tell) for tell in tells]
    with Reader.open(place.store, place.keys) as reader:
        measure, *others = [Tape(reader, reader.run(run), Rules.of(())) for run in runs]
        return learn(measure, others)


def posting(*values: object, answer: bytes = b"{}") -> Tell:
    def tell(recording: Recording) -> None:
        for value in values:
            recording.post(TOOL, value, answer)

    return tell


@pytest.mark.parametrize(
    "was, now, rule",
    [
        ("at 2026-11-29T10:00:00Z", "at 2026-11-30T11:30:01Z", "body /v matches [0-9]{4}-[0-9]{2}-[0-9]{2}[T ]"),
        ("2026-11-29 we met", "2026-11-30 we met", "body /v matches [0-9]{4}-[0-9]{2}-[0-9]{2}"),
        ("Chunk ID: df580e ok", "Chunk ID: a1b2c3 ok", r"body /v matches (?<=Chunk\\ ID:\\ )[0-9a-f]+"),
        ("took 12 ms", "took 9 ms", r"body /v matches (?<=took\\ )[0-9]+"),
        ("red", "green", "body /v"),
        (["a", {"n": "x"}], ["a", {"n": "y"}], "body /v/*/n"),
        (7, 8, "body /v"),
    ],
)
def test_the_smallest_rule_that_allows_it_is_proposed(place: Place, was: object, now: object, rule: str) -> None:
    found = learned(place, posting({"v": was, "kept": 1}), posting({"v": now, "kept": 1}))
    (proposal,) = found.proposals
    assert proposal.rule.startswith(rule.replace("\\\\", "\\"))
    assert (proposal.table, found.left, found.pairs) == ("ignore", [], 1)
    assert [(each.step, each.other) for each in proposal.evidence] == [(1, 1)]


def test_equal_recordings_teach_nothing(place: Place) -> None:
    same = posting({"v": 1}, {"v": 2})
    found = learned(place, same, same, same)
    assert (found.proposals, found.left, found.pairs) == ([], [], 4)


def test_what_came_from_an_answer_is_said_and_not_proposed(place: Place) -> None:
    def tell(token: str) -> Tell:
        def told(recording: Recording) -> None:
            recording.get("http://t.example.com/new", f'{{"ticket": "{token}"}}'.encode())
            recording.post(TOOL, {"ticket": token, "kept": 1})

        return told

    found = learned(place, tell("ticket-abcdef1"), tell("ticket-ghijkl2"))
    assert found.proposals == []
    assert found.left == ['step 2, body /ticket: "ticket-abcdef1" is "ticket-ghijkl2"']


def test_a_change_that_every_later_turn_repeats_is_one_piece_of_evidence(place: Place) -> None:
    def tell(pid: int) -> Tell:
        def told(recording: Recording) -> None:
            talk = [("user", "q"), ("user", f"process {pid} is done")]
            for turn in range(3):
                recording.post(CHAT, chat(*talk), completion(f"a{turn}"))
                talk += [("assistant", f"a{turn}"), ("user", "more")]

        return told

    (proposal,) = learned(place, tell(411), tell(9028)).proposals
    assert proposal.rule == r"body /messages/*/content matches (?<=process\ )[0-9]+"
    assert len(proposal.evidence) == 1


def test_reads_that_come_in_different_numbers_may_come_or_not(place: Place) -> None:
    def tell(times: int) -> Tell:
        def told(recording: Recording) -> None:
            for _ in range(times):
                recording.get("http://s.example.com/settings")
            recording.post(TOOL, {"v": 1})

        return told

    found = learned(place, tell(1), tell(3), tell(0))
    assert [(each.table, each.rule, each.why) for each in found.proposals] == [
        ("optional", "GET s.example.com/settings", "came 1, 3, 0 times")
    ]
    assert found.left == []


def test_what_is_in_one_recording_only_is_said(place: Place) -> None:
    found = learned(place, posting({"v": 1}), posting({"v": 1}, {"w": 2, "x": 3, "y": 4}))
    assert found.proposals == []
    assert len(found.left) == 1
    assert "is in no way in" in found.left[0]
