"""Erased bodies: on record, gone from every file of the store, and everything else is as it was."""

import sqlite3
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from store import erasure, openings
from store.core.leaf import HoldReleased, HoldSet
from store.database import FILE_NAME
from store.erasure import Erasure, ErasureRefused
from store.reader import BodyUnavailable, Reader
from store.verify import verify
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, tape
from tests.support.verifier import verify as second

STAYS = b"what nobody asked to erase, said at some length; " * 20
CANARIES = {
    "body": b"CANARY-BODY-7431",
    "answer": b"CANARY-ANSWER-9915",
    "query": b"CANARY-QUERY-2207",
    "header": b"CANARY-HEADER-6048",
    "argv": b"CANARY-ARGV-1180",
    "note": b"CANARY-NOTE-3356",
}
MAGIC = zstandard.MAGIC_NUMBER.to_bytes(4, "little")


def calls() -> list[Call]:
    """Three exchanges; what is in the second is nowhere else."""
    long = ((b"x-long", b"h" * 1100 + CANARIES["header"]),)
    return [
        Call(body=STAYS + b"1", answer=STAYS),
        Call(body=STAYS + CANARIES["body"], answer=CANARIES["answer"], query=b"q=" + CANARIES["query"], headers=long),
        Call(body=STAYS + b"3", answer=STAYS + b"!"),
    ]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Tape]:
    with tape(tmp_path) as opened:
        yield opened


def record(made: Tape, name: str = "", *, close: bool = True) -> str:
    run = made.open(name, argv=[b"agent", CANARIES["argv"]])
    for call in calls():
        made.answer(run, call, made.request(run, call))
    made.note(run, CANARIES["note"]).result(30)
    if close:
        made.writer.close_run(run, "agent_exit").result(30)
    return run


def erase(made: Tape, run: str, *seqs: int) -> None:
    made.writer.erase(Erasure(run, seqs or None, "operator", "a person asked for it")).result(60)
    made.writer.checkpoint().result(30)


def spellings(canary: bytes) -> list[bytes]:
    """As it is, in hex, and in base64 at each of the three places a byte can have there."""
    return [canary, canary.hex().encode(), *(b64encode(b"x" * shift + canary)[4:-4] for shift in range(3))]


def contents(folder: Path) -> Iterator[bytes]:
    """The bytes of every file of a store, whatever frame in them unpacks, and the logs that its blocks hold."""
    for path in folder.rglob("*"):
        raw = path.read_bytes() if path.is_file() else b""
        yield raw
        at = raw.find(MAGIC)
        while at >= 0:
            yield unpacked(raw[at : at + 200_000])
            at = raw.find(MAGIC, at + 1)
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        unpacker = zstandard.ZstdDecompressor().decompressobj()
        for number, frame, stored in connection.execute(
            "SELECT number, frame, stored FROM blocks ORDER BY run, number"
        ):
            if number == frame:
                unpacker = zstandard.ZstdDecompressor().decompressobj()
            yield unpacker.decompress(stored[4:])


def unpacked(raw: bytes) -> bytes:
    """What can be unpacked of a frame, whatever stands behind it."""
    unpacker, content = zstandard.ZstdDecompressor().decompressobj(), b""
    try:
        for at in range(0, len(raw), 64):
            content += unpacker.decompress(raw[at : at + 64])
    except zstandard.ZstdError:
        pass
    return content


def found(folder: Path) -> set[str]:
    """The canaries that are anywhere in a store."""
    everything = list(contents(folder))
    return {
        name
        for name, canary in CANARIES.items()
        if any(spelled in content for spelled in spellings(canary) for content in everything)
    }


def bodies(made: Tape, run: str) -> list[bytes | None]:
    """The bodies of requests and answers, None for those that are gone."""
    told: list[bytes | None] = []
    with Reader.open(made.folder) as reader:
        for event in reader.events(run):
            if event.type in ("http.request", "http.response"):
                try:
                    told.append(reader.body(event, getattr(event.facts, "body", None)))
                except BodyUnavailable:
                    told.append(None)
    return told


def codes(made: Tape) -> list[list[tuple[str, int | None]]]:
    """What both verifiers find."""
    ours, theirs = verify(made.folder).findings, second(made.folder).findings
    return [[(each.code, each.seq) for each in ours], [(each.code, each.seq) for each in theirs]]


def test_an_erased_step_is_nowhere_in_the_store_and_the_rest_is_as_it_was(made: Tape) -> None:
    run = record(made)
    assert found(made.folder) == set(CANARIES)
    before = bodies(made, run)
    erase(made, run, 3, 4)
    assert bodies(made, run) == [*before[:2], None, None, *before[4:]]
    assert found(made.folder) == {"argv", "note"}
    verdict = verify(made.folder)
    assert (verdict.exit_code, dict(verdict.flags)["PAYLOADS_ERASED"]) == (0, 4)
    assert codes(made) == [[], []]


def test_an_erased_run_keeps_its_envelopes_alone(made: Tape) -> None:
    run, other = record(made), record(made, "other")
    kept = bodies(made, other)
    erase(made, run)
    assert set(bodies(made, run)) == {None}
    assert bodies(made, other) == kept
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        for table in ("openings", "payloads", "blocks"):
            assert connection.execute(f"SELECT COUNT(*) FROM {table} WHERE run = ?", (run,)).fetchone() == (0,)
    erase(made, other)
    assert found(made.folder) == set()
    assert verify(made.folder).exit_code == 0
    assert codes(made) == [[], []]


def test_a_reader_is_told_when_and_why(made: Tape) -> None:
    run = record(made)
    erase(made, run, 3)
    with Reader.open(made.folder) as reader:
        event = reader.event(run, 3)
        with pytest.raises(BodyUnavailable, match=r"event 3 were erased at 20.*a person asked for it"):
            reader.body(event, getattr(event.facts, "body", None))


def test_an_open_run_is_not_erased(made: Tape) -> None:
    run = record(made, close=False)
    with pytest.raises(ErasureRefused, match="open"):
        erase(made, run)
    assert None not in bodies(made, run)


def test_a_held_run_is_not_erased_until_it_is_released(made: Tape) -> None:
    run, other = record(made), record(made)
    made.writer.hold(HoldSet(run=run, by="operator", reason="a dispute")).result(30)
    with pytest.raises(ErasureRefused, match="a dispute"):
        erase(made, run)
    erase(made, other)
    assert None not in bodies(made, run)
    made.writer.hold(HoldReleased(run=run, by="operator", reason="it is settled")).result(30)
    erase(made, run)
    assert set(bodies(made, run)) == {None}
    assert codes(made) == [[], []]


@pytest.mark.parametrize("reason", ["", "  ", "x" * 2000])
def test_an_erasure_says_why_in_a_few_words(reason: str) -> None:
    with pytest.raises(ErasureRefused, match="reason"):
        Erasure("run", None, "operator", reason)


def test_nothing_is_erased_where_a_body_that_stays_would_be_lost(made: Tape) -> None:
    run = record(made)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        connection.execute("DROP TRIGGER blocks_no_update")
        connection.execute("UPDATE blocks SET stored = x'00' WHERE run = ?", (run,))
        connection.commit()
    with pytest.raises(ErasureRefused, match="would be lost"):
        erase(made, run, 3)
    assert "PAYLOADS_ERASED" not in dict(verify(made.folder).flags)
    erase(made, run)  # all of it: nothing stays
    assert codes(made) == [[], []]


def test_old_bytes_are_spoken_of_while_somebody_reads(made: Tape) -> None:
    run, other = record(made), made.run([Call()], close=False)
    made.note(other, b"still open").result(30)
    with Reader.open(made.folder) as reader:
        walking = reader.events(other)
        next(walking)
        with pytest.raises(ErasureRefused, match="in use"):
            erase(made, run)
        list(walking)
    assert set(bodies(made, run)) == {None}
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        erasure.tidy(connection)
    assert found(made.folder) == set()


@pytest.mark.parametrize("kept", ["openings", "payloads", "both"])
def test_t27_what_is_erased_on_record_and_still_there_is_found(kept: str, made: Tape) -> None:
    run = record(made)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        opening = openings.of_event(connection, run, 3)[0]
    erase(made, run, 3)
    attacker = Attacker(made.folder)
    if kept != "payloads":
        key = (run, 3, opening.pointer)
        attacker.db.execute(
            "INSERT INTO openings VALUES (?, ?, ?, ?, ?, ?)", (*key, opening.salt, opening.sha256, opening.length)
        )
    if kept != "openings":
        attacker.db.execute("INSERT INTO payloads VALUES (?, 3, ?, 0)", (run, opening.pointer))
    attacker.db.close()
    assert codes(made) == [[("V606", 3)], [("V606", 3)]]


def test_t26_an_erasure_of_another_event_excuses_nothing(made: Tape) -> None:
    run = record(made)
    erase(made, run, 3)
    attacker = Attacker(made.folder)
    for each in ("openings", "payloads"):
        attacker.db.execute(f"DELETE FROM {each} WHERE run = ? AND seq = 4", (run,))
    attacker.db.close()
    assert codes(made) == [[("V601", 4)], [("V601", 4)]]


def test_a_short_body_leaves_nothing_to_guess_it_by(made: Tape) -> None:
    """Its commitment stays, which tells nothing without the salt; neither salt nor digest is anywhere."""
    run = made.run([Call(body=b"4711")])
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        secrets = [value for _, row in openings.of_run(connection, run) for value in (row.salt, row.sha256)]
    assert secrets
    erase(made, run)
    everything = b"".join(contents(made.folder))
    assert not [value for value in secrets if value in everything or value.hex().encode() in everything]
