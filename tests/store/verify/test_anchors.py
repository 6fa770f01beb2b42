"""What those outside gave: it bounds a run in time and shows that the log was seen, and nothing can take its place."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from store import writer as writing
from store.bundle.intake import take_in
from store.core.checkpoint import VerifierKey
from store.core.cosignature import WitnessKey
from store.core.event import timestamp
from store.outside import token
from store.outside.token import Authority
from store.verify import verify
from store.verify.policy import Policy
from store.verify.terms import Terms
from store.verify.verdict import Verdict
from store.writer import Writer
from tests.store.bundle.parcel import export
from tests.store.verify.attacker import Attacker
from tests.support.anchored import cosign, keep, stamp
from tests.support.tape import Call, Tape, tape
from tests.support.time_authority import TimeAuthority
from tests.support.witness import Witness

MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> TimeAuthority:
    return TimeAuthority(tmp_path_factory.mktemp("authority") / "tsa")


@pytest.fixture(scope="module")
def witnesses() -> list[Witness]:
    return [Witness({}, f"witness.example/w{number}") for number in range(3)]


@pytest.fixture
def made(tmp_path: Path, authority: TimeAuthority, witnesses: list[Witness]) -> Tape:
    """A store with two runs: a stamp before the first, a stamp and two cosignatures after it, nothing after `two`."""
    with tape(tmp_path) as made:
        stamp(made.folder, made.keys, authority)
        made.run([Call()], "one")
        stamp(made.folder, made.keys, authority)
        for witness in witnesses[:2]:
            cosign(made.folder, made.keys, witness)
        made.run([Call()], "two")
    return made


def trusting(*authorities: TimeAuthority) -> tuple[Authority, ...]:
    return tuple(Authority(token.certificates(each.root.read_bytes())) for each in authorities)


def keys(witnesses: list[Witness]) -> tuple[WitnessKey, ...]:
    return tuple(WitnessKey.parse(each.vkey) for each in witnesses)


def asking(authority: TimeAuthority, witnesses: list[Witness], quorum: int = 2) -> Policy:
    return Policy(witnesses=keys(witnesses), quorum=quorum, authorities=trusting(authority), timed=True)


def codes(verdict: Verdict) -> list[str]:
    return [finding.code for finding in verdict.findings]


def test_a_run_between_two_stamps_is_bounded_on_both_sides(
    made: Tape, authority: TimeAuthority, witnesses: list[Witness]
) -> None:
    verdict = verify(made.folder, made.keys, "one", terms=Terms(policy=asking(authority, witnesses)))
    assert (verdict.exit_code, dict(verdict.flags)) == (0, {"UNATTRIBUTED": None})
    bounds = verdict.bounds
    assert bounds.no_earlier is not None
    assert bounds.no_later is not None
    assert bounds.no_earlier < datetime.now(UTC) < bounds.no_later + MINUTE
    assert verdict.line.endswith(
        f"; existed no later than {timestamp(bounds.no_later)}, no earlier than {timestamp(bounds.no_earlier)}"
    )
    assert verdict.record["no_later"] == timestamp(bounds.no_later)
    assert len(verdict.witnesses) == 2


def test_without_a_policy_nobody_is_trusted(made: Tape) -> None:
    verdict = verify(made.folder, made.keys, "one")
    assert (verdict.exit_code, dict(verdict.flags)) == (0, dict.fromkeys(("UNATTRIBUTED", "UNWITNESSED", "UNTIMED")))
    assert verdict.bounds.words == ""


def test_what_came_after_is_not_covered(made: Tape, authority: TimeAuthority, witnesses: list[Witness]) -> None:
    for word, others in (("two", 0), (None, 4)):
        verdict = verify(made.folder, made.keys, word, terms=Terms(policy=asking(authority, witnesses)))
        assert (codes(verdict), verdict.exit_code) == (["V510", "V521"], 10)
        assert dict(verdict.flags) == {"UNATTRIBUTED": None, "UNWITNESSED": 4, "UNTIMED": 4}
        assert verdict.events == 4 + others
        assert verdict.word == "VERIFIED"
    two = verify(made.folder, made.keys, "two", terms=Terms(policy=asking(authority, witnesses))).bounds
    assert two.no_later is None
    assert two.no_earlier is not None


def test_a_quorum_is_as_large_as_it_is_asked_for(
    made: Tape, authority: TimeAuthority, witnesses: list[Witness]
) -> None:
    asked = asking(authority, witnesses, quorum=3)
    assert codes(verify(made.folder, made.keys, "one", terms=Terms(policy=asked))) == ["V510"]
    cosign(made.folder, made.keys, witnesses[2])
    assert codes(verify(made.folder, made.keys, "one", terms=Terms(policy=asked))) == []
    assert "UNWITNESSED" not in dict(
        verify(made.folder, made.keys, "two", terms=Terms(policy=replace(asked, quorum=1))).flags
    )


def test_pins_and_forbidden_flags_are_asked_for(made: Tape) -> None:
    stranger = VerifierKey("edgetape.local/x", bytes(32))
    assert "V431" in codes(verify(made.folder, made.keys, terms=Terms(policy=Policy(pins=(stranger,)))))
    attacker = Attacker(made.folder)
    attacker.db.close()
    verdict = verify(
        made.folder, made.keys, terms=Terms(policy=Policy(pins=(stranger, attacker.key), forbid=("UNTIMED", "GAPS")))
    )
    assert (codes(verdict), verdict.exit_code, verdict.unmet) == ([], 10, ("the policy forbids UNTIMED",))
    assert "UNATTRIBUTED" not in dict(verdict.flags)


def test_v521_an_authority_that_is_not_trusted_is_named(made: Tape, tmp_path: Path) -> None:
    other = TimeAuthority(tmp_path / "other")
    verdict = verify(made.folder, made.keys, "one", terms=Terms(policy=Policy(authorities=trusting(other), timed=True)))
    (finding,) = verdict.findings
    assert (finding.code, verdict.exit_code) == ("V521", 10)
    assert "tsa.example is not trusted" in finding.sentence
    assert dict(verdict.flags)["UNTIMED"] is None


def test_v522_bounds_that_are_asked_for(made: Tape, authority: TimeAuthority) -> None:
    now = datetime.now(UTC)
    asked = Policy(authorities=trusting(authority), not_before=now - MINUTE, not_after=now + MINUTE)
    assert codes(verify(made.folder, made.keys, "one", terms=Terms(policy=asked))) == []
    for other in (replace(asked, not_before=now + MINUTE), replace(asked, not_after=now - MINUTE)):
        verdict = verify(made.folder, made.keys, "one", terms=Terms(policy=other))
        assert (codes(verdict), verdict.exit_code) == (["V522"], 10)
    assert codes(verify(made.folder, made.keys, "two", terms=Terms(policy=asked))) == [
        "V522"
    ]  # nothing shows that it existed by then


@pytest.mark.parametrize("wrong", [timedelta(days=-1), timedelta(days=1)])
def test_t21_a_run_with_another_date_is_found(
    wrong: timedelta, tmp_path: Path, authority: TimeAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tape(tmp_path) as made:
        stamp(made.folder, made.keys, authority)
        monkeypatch.setattr(writing, "_now", lambda: timestamp(datetime.now(UTC) + wrong))
        made.run([Call()], "one")
    stamp(made.folder, made.keys, authority)
    asked = Policy(authorities=trusting(authority), timed=True)
    verdict = verify(made.folder, made.keys, "one", terms=Terms(policy=asked))
    assert (codes(verdict), verdict.exit_code) == (["V522"], 10)
    assert codes(verify(made.folder, made.keys, "one", terms=Terms(policy=replace(asked, skew_s=2 * 86_400)))) == []


def test_an_imported_run_has_no_earliest_time(made: Tape, authority: TimeAuthority, tmp_path: Path) -> None:
    (tmp_path / "one.zip").write_bytes(export(made.folder, "one"))
    with tape(tmp_path / "other") as other:
        stamp(other.folder, other.keys, authority)
        take_in(tmp_path / "one.zip", other.writer)
    stamp(other.folder, other.keys, authority)
    verdict = verify(other.folder, other.keys, terms=Terms(policy=Policy(authorities=trusting(authority), timed=True)))
    assert (codes(verdict), verdict.bounds.no_earlier) == ([], None)
    assert verdict.bounds.no_later is not None


def newest_size(folder: Path) -> int:
    attacker = Attacker(folder)
    size, _ = attacker.newest_checkpoint()
    attacker.close()
    return size


def anchors_of(attacker: Attacker, kind: str) -> list[int]:
    leaves = attacker.db.execute("SELECT position, leaf FROM leaves ORDER BY position").fetchall()
    return [position for position, leaf in leaves if f'"kind":"{kind}"'.encode() in leaf]


def strip(attacker: Attacker, kind: str) -> None:
    for position in anchors_of(attacker, kind):
        attacker.db.execute("DELETE FROM anchors WHERE position = ?", (position,))


def swap(attacker: Attacker, kind: str) -> None:
    one, other = anchors_of(attacker, kind)[:2]
    query = "SELECT content FROM anchors WHERE position = ?"
    contents = [attacker.db.execute(query, (at,)).fetchone()[0] for at in (other, one)]
    for at, content in zip((one, other), contents, strict=True):
        attacker.db.execute("UPDATE anchors SET content = ? WHERE position = ?", (content, at))


def drop_note(attacker: Attacker, kind: str) -> None:
    query = "SELECT leaf FROM leaves WHERE position = ?"
    ((leaf,),) = attacker.db.execute(query, anchors_of(attacker, kind)[:1]).fetchall()
    attacker.db.execute("DELETE FROM checkpoints WHERE size = ?", (json.loads(leaf)["size"],))


def stray(attacker: Attacker, kind: str) -> None:
    attacker.db.execute("INSERT INTO anchors (position, content) SELECT 0, content FROM anchors LIMIT 1")


ATTACKS: dict[str, tuple[Callable[[Attacker, str], None], str, set[str]]] = {
    "T46 cosignatures stripped": (strip, "cosignature", {"V511"}),
    "T46 cosignatures swapped": (swap, "cosignature", {"V511"}),
    "T47 time stamps swapped": (swap, "rfc3161", {"V520"}),
    "T47 time stamps stripped": (strip, "rfc3161", {"V520"}),
    "what was stamped is gone": (drop_note, "rfc3161", {"V520"}),
    "what no leaf names": (stray, "rfc3161", {"V520"}),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_taken_or_exchanged_is_missed(
    name: str, made: Tape, authority: TimeAuthority, witnesses: list[Witness]
) -> None:
    attack, kind, expected = ATTACKS[name]
    attacker = Attacker(made.folder)
    attack(attacker, kind)
    attacker.close()
    verdict = verify(made.folder, made.keys, "one")
    assert (set(codes(verdict)), verdict.exit_code) == (expected, 20)
    asked = verify(made.folder, made.keys, "one", terms=Terms(policy=asking(authority, witnesses)))
    assert set(codes(asked)) >= expected
    assert asked.exit_code == 20
    if kind == "cosignature" and attack is strip:
        assert "V510" in codes(asked)


def test_t47_a_time_stamp_over_something_else_proves_nothing(made: Tape, authority: TimeAuthority) -> None:
    """With the true key, so that leaf and checkpoint fit: a stamp that was made for other data, and one for none."""
    size = newest_size(made.folder)
    keep(made.folder, made.keys, "rfc3161", size, "tsa.example", authority.stamp(b"other data"))
    keep(made.folder, made.keys, "rfc3161", size, "tsa.example", b"junk")
    keep(made.folder, made.keys, "rfc3161", size, "tsa.example", authority.reply(b"a query that is none"))
    assert codes(verify(made.folder, made.keys, "one")) == ["V520"] * 3


def test_v511_a_cosignature_that_a_known_witness_did_not_make(
    made: Tape, authority: TimeAuthority, witnesses: list[Witness]
) -> None:
    size = newest_size(made.folder)
    keep(made.folder, made.keys, "cosignature", size, "w", witnesses[0].cosign(b"edgetape.local/x\n1\nAAAA\n"))
    assert codes(verify(made.folder, made.keys, "one")) == []  # without its key nobody can tell
    verdict = verify(made.folder, made.keys, "one", terms=Terms(policy=asking(authority, witnesses)))
    assert (codes(verdict), verdict.exit_code) == (["V511"], 20)
    keep(made.folder, made.keys, "cosignature", size, "w", b"junk")
    assert codes(verify(made.folder, made.keys, "one")) == ["V511"]


def test_t45_a_view_that_the_witness_was_not_shown_has_no_quorum(
    made: Tape, authority: TimeAuthority, witnesses: list[Witness], tmp_path: Path
) -> None:
    """Two stores with one key: the witness saw the first; its cosignatures do not fit the second."""
    shutil.copytree(tmp_path, tmp_path / "fork", ignore=shutil.ignore_patterns("fork"))
    for base in (tmp_path, tmp_path / "fork"):
        writer = Writer.open(base / "store", base / "keys")
        Tape(base / "store", base / "keys", writer).run([Call()], "later")
        writer.close()
    shown = [cosign(tmp_path / "store", tmp_path / "keys", each) for each in witnesses[:2]]
    asked = asking(authority, witnesses)
    assert "V510" not in codes(verify(tmp_path / "store", tmp_path / "keys", "later", terms=Terms(policy=asked)))
    fork = tmp_path / "fork" / "store"
    assert "V510" in codes(verify(fork, fork.parent / "keys", "later", terms=Terms(policy=asked)))
    attacker = Attacker(tmp_path / "store")
    query = "SELECT content FROM anchors WHERE position = ?"
    stolen = attacker.db.execute(query, (shown[0].position,)).fetchone()[0]
    attacker.close()
    size = newest_size(fork)
    keep(fork, tmp_path / "fork" / "keys", "cosignature", size, "w", stolen)
    verdict = verify(fork, fork.parent / "keys", "later", terms=Terms(policy=asked))
    assert ({"V510", "V511"} <= set(codes(verdict)), verdict.exit_code) == (True, 20)


def test_a_store_from_before_there_were_anchors_is_read(made: Tape, tmp_path: Path) -> None:
    with tape(tmp_path / "old") as old:
        old.run([Call()])
    attacker = Attacker(old.folder)
    attacker.db.execute("DROP TABLE anchors")
    attacker.db.execute("DELETE FROM _sqlite_migrations WHERE name = 'm002_anchors'")
    attacker.close()
    assert verify(old.folder, old.keys).exit_code == 0
