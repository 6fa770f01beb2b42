"""Asking a witness: one that sees the log grow, one that was shown another log, and one that answers with anything."""

import shutil
from pathlib import Path

import pytest

from store.core import cosignature
from store.core.errors import EdgetapeError, Malformed
from store.outside import keeping
from store.outside import round as rounds
from store.outside.post import Way
from store.outside.round import Outcome, Plan
from store.outside.witness import Diverged, NotWitnessed, Witness
from store.writer import Writer
from tests.support.desk import Reply
from tests.support.tape import Call, Tape
from tests.support.witness import Witness as Server
from tests.support.witness import witnessing


def plan(server: Server) -> Plan:
    return Plan(witnesses=(Witness.parse(f"{server.vkey}@{server.url}"),))


def ask(made: Tape, server: Server) -> Outcome:
    return rounds.go(made.folder, made.keys, plan(server))


def go_on(made: Tape) -> None:
    writer = Writer.open(made.folder, made.keys)
    Tape(made.folder, made.keys, writer).run([Call()])
    writer.close()


def forked(made: Tape, base: Path) -> Tape:
    """A copy of the store and of its keys, which goes on by itself."""
    shutil.copytree(made.folder.parent, base)
    return Tape(base / "store", base / "keys", made.writer)


def test_it_cosigns_as_the_log_grows_and_is_sent_proofs(recorded: Tape, witness: Server) -> None:
    outcomes = [ask(recorded, witness)]
    go_on(recorded)
    outcomes.append(ask(recorded, witness))
    outcomes.append(ask(recorded, witness))
    sizes = [each.stated.size for each in outcomes]
    assert [[kept.facts.size for kept in each.kept] for each in outcomes] == [[size] for size in sizes]
    assert [request.partition(b"\n")[0] for request in witness.requests] == [
        b"old 0", b"old %d" % sizes[0], b"old %d" % sizes[1],
    ]  # fmt: skip
    key = cosignature.WitnessKey.parse(witness.vkey)
    ((origin, seen),) = witness.seen.items()
    assert (origin, seen) == (outcomes[-1].stated.origin, (sizes[-1], outcomes[-1].stated.root))
    assert keeping.last_size(recorded.folder, "cosignature", key.name) == sizes[-1]


def test_a_witness_that_knows_more_than_we_remember_is_asked_again(recorded: Tape, witness: Server) -> None:
    stated = ask(recorded, witness).stated
    go_on(recorded)
    witness.seen[stated.origin] = (stated.size - 1, root(recorded, stated.size - 1))
    assert not ask(recorded, witness).failures
    assert len(witness.requests) == 3


def root(made: Tape, size: int) -> bytes:
    from store import database, log

    connection = database.open_for_reading(made.folder)
    found = log.root_at(connection, size)
    connection.close()
    assert found is not None
    return found


def test_t45_a_fork_is_not_cosigned(recorded: Tape, witness: Server, tmp_path: Path) -> None:
    ask(recorded, witness)
    other = forked(recorded, tmp_path / "fork")
    go_on(recorded)
    ask(recorded, witness)
    for _ in range(3):
        go_on(other)
    (failure,) = ask(other, witness).failures
    assert isinstance(failure, Diverged)
    assert str(failure).startswith("V502")


def test_a_log_that_was_rolled_back_is_not_cosigned(recorded: Tape, witness: Server, tmp_path: Path) -> None:
    backup = forked(recorded, tmp_path / "backup")
    go_on(recorded)
    ask(recorded, witness)
    (failure,) = ask(backup, witness).failures
    assert isinstance(failure, Diverged)
    assert str(failure).startswith("V501")


def test_a_log_or_key_that_the_witness_does_not_know_is_named(recorded: Tape) -> None:
    with witnessing({}) as stranger:
        (failure,) = ask(recorded, stranger).failures
        assert isinstance(failure, NotWitnessed)
        assert "does not know this log" in str(failure)


HOSTILE: dict[str, tuple[Reply, str]] = {
    "status 500": ((500, "text/plain", b""), "status 500"),
    "status 400": ((400, "text/plain", b""), "did not understand"),
    "status 403": ((403, "text/plain", b""), "does not know the key"),
    "status 422": ((422, "text/plain", b""), "V502"),
    "a conflict without a size": ((409, "text/plain", b"5\n"), "V502"),
    "a conflict of no number": ((409, "text/x.tlog.size", b"five\n"), "V502"),
    "a conflict with more": ((409, "text/x.tlog.size", b"9999999\n"), "V501"),
    "nothing": ((200, "text/plain", b""), "malformed"),
    "garbage": ((200, "text/plain", b"\xff\xfe"), "not UTF-8"),
    "a foreign line": ((200, "text/plain", "\u2014 other.example/w AAAAAAAA\n".encode()), "of others than"),
    "too much": ((200, "text/plain", b"x" * 20_000), "more than 16384 bytes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_cosignature_is_one_sentence(
    name: str, recorded: Tape, witness: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, sentence = HOSTILE[name]
    monkeypatch.setattr(witness, "answer", lambda body: reply)
    outcome = ask(recorded, witness)
    (failure,) = outcome.failures
    assert outcome.kept == []
    assert sentence in str(failure)
    assert "\n" not in str(failure)


def test_a_false_cosignature_is_not_kept(recorded: Tape, witness: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    line = witness.cosign(b"another text\n")
    monkeypatch.setattr(witness, "answer", lambda body: (200, "text/plain", line))
    outcome = ask(recorded, witness)
    assert [str(each)[:4] for each in outcome.failures] == ["V511"]
    assert outcome.kept == []


def test_a_witness_that_changes_its_mind_is_left_alone(
    recorded: Tape, witness: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = iter((1, 2, 1, 2, 1, 2))
    monkeypatch.setattr(witness, "answer", lambda body: (409, "text/x.tlog.size", b"%d\n" % next(sizes)))
    (failure,) = ask(recorded, witness).failures
    assert "changed its mind" in str(failure)


@pytest.mark.parametrize("text", ["", "x", "@http://x", "a+b+c@http://x", "http://x"])
def test_what_names_no_witness_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        Witness.parse(text)


def test_one_who_fails_keeps_nobody_else_from_being_asked(recorded: Tape, witness: Server) -> None:
    with witnessing({}) as stranger:
        both = Plan(witnesses=(*plan(stranger).witnesses, *plan(witness).witnesses), way=Way(deadline_s=5))
        outcome = rounds.go(recorded.folder, recorded.keys, both)
    assert len(outcome.failures) == len(outcome.kept) == 1
    assert isinstance(outcome.failures[0], EdgetapeError)
