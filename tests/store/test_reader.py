"""The one way out: runs are found by what people call them, and what is damaged is never passed off as what it was."""

from pathlib import Path

import pytest

from store.core import digest
from store.core.errors import Malformed, StoreUnusable, UnknownRun
from store.core.model import HttpRequest, Note
from store.core.text import Body
from store.database import FILE_NAME
from store.exchange import exchanges
from store.reader import BodyUnavailable, Reader
from tests.store.verify.attacker import MIDDLE, Attacker
from tests.support.tape import Call, Tape, tape


def test_a_run_is_found_by_what_people_call_it(open_tape: Tape) -> None:
    older, newer = open_tape.run([Call()], "twin"), open_tape.run([Call(), Call()], "twin")
    replay = open_tape.run([], "other", mode="replay")
    nameless = open_tape.run([])
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        assert reader.find("twin").id == newer
        assert reader.find(older).id == older
        assert reader.find(older[:-1]).id == older
        assert reader.find("last").id == nameless
        assert reader.find("last:record").id == nameless
        assert reader.find("last:replay").id == replay
        assert [run.id for run in reader.runs()] == [nameless, replay, newer, older]
        assert [run.id for run in reader.runs("replay")] == [replay]
        info = reader.find("twin")
    assert (info.name, info.mode, info.events, info.steps) == ("twin", "record", 6, 2)
    assert (info.reason, info.exit_code, info.parent) == ("agent_exit", 0, None)
    assert info.opened < info.closed


def test_a_damaged_run_hides_no_other(open_tape: Tape) -> None:
    sound, broken = open_tape.run([Call()], "sound"), open_tape.run([Call()], "broken")
    attacker = Attacker(open_tape.folder)
    attacker.db.execute("UPDATE events SET event = x'ff00' WHERE run = ? AND seq = 0", (broken,))
    attacker.close()
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        listed = reader.runs()
    assert [(run.id, run.name, run.reason) for run in listed] == [
        (broken, "broken", "damaged"),
        (sound, "sound", "agent_exit"),
    ]


@pytest.mark.parametrize(
    "word", ["", "nobody", "last:fork", "%", "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "la", "*", "\udcff"]
)
def test_a_word_that_means_no_run_says_what_there_is(open_tape: Tape, word: str) -> None:
    open_tape.run([], "contract")
    open_tape.run([])
    with Reader.open(open_tape.folder, open_tape.keys) as reader, pytest.raises(UnknownRun) as caught:
        reader.find(word)
    assert "contract" in caught.value.hint


def test_a_beginning_of_several_ids_asks_for_more(open_tape: Tape) -> None:
    for _ in range(3):
        open_tape.run([])
    with Reader.open(open_tape.folder, open_tape.keys) as reader, pytest.raises(UnknownRun, match="more than one"):
        reader.find(reader.runs()[0].id[:3])


def test_a_name_is_found_though_ids_begin_so(open_tape: Tape) -> None:
    runs = [open_tape.run([]), open_tape.run([])]
    named = open_tape.run([], runs[0][:4])
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        assert reader.find(runs[0][:4]).id == named


def test_an_open_run_is_told_as_open(open_tape: Tape) -> None:
    run = open_tape.run([Call(answer=None)], close=False)
    open_tape.note(run, b"x").result(30)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        info = reader.run(run)
        assert (info.closed, info.reason, info.exit_code, info.events, info.steps) == ("", None, None, 3, 2)
        assert [exchange.outcome for exchange in exchanges(reader.events(run))] == [None]


def test_an_event_and_its_hash_are_found_by_seq(open_tape: Tape) -> None:
    run = open_tape.run([Call()])
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        assert reader.event(run, 1).type == "http.request"
        assert reader.event_hash(run, 1).hex() == reader.event(run, 2).place.prev
        for missing in (lambda: reader.event(run, 9), lambda: reader.event_hash(run, 9), lambda: reader.run("r")):
            with pytest.raises(UnknownRun):
                missing()


def test_what_is_known_of_a_body_is_known_without_reading_it(open_tape: Tape) -> None:
    run = open_tape.run([Call(body=b"x" * 5000)])
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        event = reader.event(run, 1)
        assert isinstance(event.facts, HttpRequest)
        assert event.facts.body is not None
        opening = reader.opening(event, event.facts.body)
        assert (opening.pointer, opening.length) == ("/body", 5000)
        assert opening.sha256 == digest.body_digest(b"x" * 5000)
        assert reader.body(event, None) == b""
        assert reader.text(event, None) == b""
        assert reader.pairs(event, None) == []
        with pytest.raises(BodyUnavailable):
            reader.opening(event, Body(body="0" * 64))


@pytest.fixture
def attacker(tmp_path: Path) -> Attacker:
    with tape(tmp_path) as made:
        made.run([Call(body=b'{"q":1}'), Call(body=b'{"q":2}')], "closed")
    return Attacker(made.folder)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE blocks SET stored = x'00'",
        "UPDATE blocks SET start = start + 1",
        "UPDATE payloads SET place = place + 1",
        "UPDATE payloads SET place = -1",
        "DELETE FROM blocks",
        "DELETE FROM payloads",
        "DELETE FROM openings",
        "UPDATE openings SET length = length + 1",
        "UPDATE openings SET length = -1",
        "UPDATE openings SET salt = x'00'",
        "UPDATE openings SET sha256 = zeroblob(32)",
    ],
)
def test_a_damaged_or_erased_body_is_unavailable(attacker: Attacker, statement: str) -> None:
    attacker.db.execute(statement)
    run = attacker.run("closed")
    attacker.close()
    with Reader.open(attacker.folder, attacker.keys) as reader:
        event = reader.event(run, MIDDLE)
        assert isinstance(event.facts, HttpRequest)
        with pytest.raises(BodyUnavailable):
            reader.body(event, event.facts.body)


def test_a_body_of_another_event_is_not_passed_off_as_this_ones(attacker: Attacker) -> None:
    run = attacker.run("closed")
    attacker.body(run, MIDDLE, "/body", b'{"q":1}')
    attacker.close()
    with Reader.open(attacker.folder, attacker.keys) as reader:
        event = reader.event(run, MIDDLE)
        assert isinstance(event.facts, HttpRequest)
        with pytest.raises(BodyUnavailable):
            reader.body(event, event.facts.body)


@pytest.mark.parametrize("seq", [0, 5])
@pytest.mark.parametrize("raw", [b"{", b"", b'{"v":1}'])
def test_a_run_whose_ends_are_damaged_is_named(attacker: Attacker, seq: int, raw: bytes) -> None:
    run = attacker.run("closed")
    attacker.put(run, seq, raw)
    attacker.close()
    with Reader.open(attacker.folder, attacker.keys) as reader:
        assert reader.identify("closed") == run
        assert {each.id: each.reason for each in reader.runs()}[run] == "damaged"
        with pytest.raises(Malformed, match=run):
            reader.find("closed")


def test_a_run_that_does_not_begin_with_its_opening_is_damaged(attacker: Attacker) -> None:
    run = attacker.run("closed")
    attacker.db.execute("DELETE FROM events WHERE seq = 0")
    attacker.close()
    with Reader.open(attacker.folder, attacker.keys) as reader, pytest.raises(Malformed, match="begin"):
        reader.run(run)


def test_a_store_whose_log_has_no_beginning_cannot_be_read(attacker: Attacker) -> None:
    attacker.db.execute("DELETE FROM leaves")
    attacker.close()
    with pytest.raises(StoreUnusable, match="no log"):
        Reader.open(attacker.folder, attacker.keys)


def test_a_reader_takes_no_lock_and_sees_what_is_committed_meanwhile(open_tape: Tape) -> None:
    run = open_tape.open()
    open_tape.note(run, b"1").result(30)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        walking = reader.events(run)
        next(walking)
        open_tape.note(run, b"2").result(30)
        assert next(walking).seq == 1
        notes = [event for event in reader.events(run) if isinstance(event.facts, Note)]
    assert len(notes) == 2
    assert (open_tape.folder / FILE_NAME).exists()
