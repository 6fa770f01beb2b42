"""Anchoring from the command line: what is said, kept and proved, and how it fails."""

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.cli import run
from proxy.stores import anchoring
from proxy.stores.anchoring import Rounds, plan
from store.outside import keeping
from store.outside import round as rounds
from store.verify import verify
from store.writer import Writer
from tests.proxy.tape import Folders, folders, record_tape
from tests.support.command import Command
from tests.support.desk import Reply
from tests.support.tape import Call, Tape
from tests.support.time_authority import TimeAuthority, granted, stamping
from tests.support.witness import Witness, witnessing


@pytest.fixture
def place(tmp_path: Path) -> Folders:
    place = folders(tmp_path)
    record_tape(place, "one")
    return place


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[TimeAuthority]:
    with stamping(tmp_path / "tsa") as made:
        yield made


@pytest.fixture
def witness(place: Folders, capsys: pytest.CaptureFixture[str]) -> Iterator[Witness]:
    with witnessing({vkey(place, capsys).partition("+")[0]: vkey(place, capsys)}) as made:
        yield made


def vkey(place: Folders, capsys: pytest.CaptureFixture[str]) -> str:
    """What the store's verifiers pin."""
    assert run([*place.options, "keys", "show", "--json"]) == 0
    return str(json.loads(capsys.readouterr().out)["keys"][0]["vkey"])


def test_a_run_is_stamped_cosigned_and_proved_by_a_policy(
    place: Folders, authority: TimeAuthority, witness: Witness, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = f"{witness.vkey}@{witness.url}"
    stamp = [*place.options, "checkpoint", "stamp", "--tsa", authority.url]
    assert run([*stamp, "--tsa-ca", str(authority.root)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("checkpoint 5: stamped by 127.0.0.1:")
    assert said.rstrip().endswith("(within 1 s); leaf 5")
    record_tape(place, "two")
    assert run([*stamp, "--json"]) == 0
    (kept,) = json.loads(capsys.readouterr().out)["anchors"]
    assert (kept["kind"], len(kept["sha256"])) == ("rfc3161", 64)
    assert run([*place.options, "checkpoint", "witness", "--witness", named]) == 0
    assert "cosigned by witness.example/w1; leaf" in capsys.readouterr().out
    policy = tmp_path / "policy.toml"
    pin = vkey(place, capsys)
    policy.write_text(
        f'pins = ["{pin}"]\n[witnesses]\nkeys = ["{witness.vkey}"]\n[[authority]]\nroots = "tsa/root.pem"\n'
    )
    verify = [*place.options, "verify", "--policy", str(policy)]
    assert run([*verify, "two", "--strict"]) == 0
    proved = capsys.readouterr()
    assert "--pin" not in proved.err  # the policy has one
    line = proved.out
    assert line.startswith("VERIFIED run ")
    assert "; existed no later than " in line
    assert ", no earlier than " in line
    assert run([*verify, "one", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["no_earlier"], record["witnesses"]) == (None, [f"{'+'.join(witness.vkey.split('+')[:2])}"])
    assert record["no_later"].endswith("Z")
    bundle = str(tmp_path / "two.zip")
    assert run([*place.options, "export", "two", "-o", bundle]) == 0
    assert run(["verify", bundle, "--policy", str(policy), "--strict"]) == 0
    capsys.readouterr()
    record_tape(place, "three")
    assert run(verify) == 10
    out = capsys.readouterr().out
    assert out.startswith("V510: witness quorum not met")
    assert "V521: authority not trusted" in out


def test_what_is_kept_can_be_listed(
    place: Folders, authority: TimeAuthority, witness: Witness, capsys: pytest.CaptureFixture[str]
) -> None:
    named = f"{witness.vkey}@{witness.url}"
    assert run([*place.options, "checkpoint", "anchors", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert run([*place.options, "checkpoint", "stamp", "--tsa", authority.url, "--json"]) == 0
    (kept,) = json.loads(capsys.readouterr().out)["anchors"]
    assert run([*place.options, "checkpoint", "witness", "--witness", named]) == 0
    capsys.readouterr()
    assert run([*place.options, "checkpoint", "anchors"]) == 0
    heads, *rows = capsys.readouterr().out.splitlines()
    assert heads.split() == ["leaf", "checkpoint", "kind", "by", "at"]
    assert [row.split()[2] for row in rows] == ["rfc3161", "cosignature"]
    assert run([*place.options, "checkpoint", "anchors", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first == {**kept, "size": 5, "at": first["at"]}
    assert second["at"].startswith("2026-11-")


def test_a_policy_can_forbid_flags(place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('forbid = ["UNTIMED"]\n')
    assert run([*place.options, "verify", "--policy", str(policy)]) == 10
    assert "the policy forbids UNTIMED" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["stamp"],
        ["witness"],
        ["stamp", "--tsa", "tsa.example"],
        ["witness", "--witness", "x"],
        ["witness", "--witness", "x@http://w.example"],
    ],
)
def test_whom_to_ask_must_make_sense(place: Folders, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*place.options, "checkpoint", *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) <= 2


def test_roots_that_are_none_and_a_policy_that_is_none_are_refused(
    place: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = tmp_path / "none"
    none.write_text("pins = [")
    stamp = [*place.options, "checkpoint", "stamp", "--tsa", "http://127.0.0.1:1"]
    assert run([*stamp, "--tsa-ca", str(none)]) == 2
    assert run([*place.options, "verify", "--policy", str(none)]) == 2
    assert "makes no sense" in capsys.readouterr().err


def test_one_who_is_away_or_wrong_is_named_and_nothing_is_kept(
    place: Folders, authority: TimeAuthority, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stamp = [*place.options, "checkpoint", "stamp", "--json", "--tsa"]
    assert run([*stamp, "http://127.0.0.1:1/"]) == 3
    said = capsys.readouterr()
    assert json.loads(said.out)["anchors"] == []
    assert "cannot be reached" in said.err
    other = TimeAuthority(tmp_path / "other")
    assert run([*stamp, authority.url, "--tsa-ca", str(other.root)]) == 3
    assert "certificate" in capsys.readouterr().err
    assert run([*place.options, "verify"]) == 0


def test_a_witness_that_saw_more_makes_it_diverged(
    place: Folders, witness: Witness, capsys: pytest.CaptureFixture[str]
) -> None:
    origin = vkey(place, capsys).partition("+")[0]
    witness.seen[origin] = (999, bytes(32))
    assert run([*place.options, "checkpoint", "witness", "--witness", f"{witness.vkey}@{witness.url}"]) == 21
    assert "V501: the witness witness.example/w1" in capsys.readouterr().err


def test_a_recorded_run_is_anchored_before_and_after(authority: TimeAuthority, tmp_path: Path) -> None:
    edgetape = Command(tmp_path / "home")
    edgetape.folder.mkdir()
    asked = ("--tsa", authority.url, "--tsa-ca", str(authority.root))
    assert edgetape.run("record", *asked, "--", sys.executable, "-c", "raise SystemExit(7)").code == 7
    assert len(authority.asked) == 2
    (edgetape.folder / "policy.toml").write_text(f'[[authority]]\nroots = "{authority.root}"\n')
    proved = edgetape.run("verify", "last", "--policy", "policy.toml")
    assert proved.code == 0, proved.out
    assert "; existed no later than " in proved.out  # the first round goes on beside the agent: one as short may win
    assert "UNTIMED" not in proved.out


def test_an_authority_that_is_away_harms_no_recording_and_is_named_once(tmp_path: Path) -> None:
    edgetape = Command(tmp_path / "home", {"EDGETAPE_TSA": "http://127.0.0.1:1/ http://127.0.0.1:2/"})
    edgetape.folder.mkdir()
    said = edgetape.run("record", "--", sys.executable, "-c", "raise SystemExit(7)")
    assert said.code == 7
    for port in (1, 2):
        assert said.err.count(f"the log is not anchored: http://127.0.0.1:{port} cannot be reached") == 1
    assert edgetape.run("verify").code == 0


def test_options_that_make_no_sense_are_refused_before_anything_runs(tmp_path: Path) -> None:
    edgetape = Command(tmp_path)
    said = edgetape.run("record", "--tsa", "tsa.example", "--", sys.executable, "-c", "print('ran')")
    assert (said.code, said.out) == (2, "")


def test_rounds_go_on_while_the_log_grows_and_rest_while_it_does_not(place: Folders, authority: TimeAuthority) -> None:
    stamped = threading.Semaphore(0)

    def answer(asked: TimeAuthority, query: bytes) -> Reply:
        reply = granted(asked, query)
        stamped.release()
        return reply

    authority.answer = answer
    said: list[str] = []
    writer = Writer.open(place.store, place.keys)
    going = Rounds(
        place.store, place.keys, plan([authority.url], None, ()), 0.01, lambda sentence, hint: said.append(sentence)
    )
    going.begin()
    assert stamped.acquire(timeout=30)
    Tape(place.store, place.keys, writer).run([Call()], "more")
    assert stamped.acquire(timeout=30)
    writer.close()
    going.close()
    assert said == []
    assert rounds.go(place.store, place.keys, plan([authority.url], None, ()), anyway=False).kept == []
    assert keeping.last_size(place.store, "rfc3161", authority.url.split("/")[2]) > 5
    assert verify(place.store, place.keys).exit_code == 0


def test_one_who_never_answers_keeps_nobody_from_ending(
    place: Folders, authority: TimeAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    came, may_go = threading.Event(), threading.Event()

    def answer(asked: TimeAuthority, query: bytes) -> Reply:
        came.set()
        may_go.wait(30)
        return 503, "text/plain", b""

    authority.answer = answer
    monkeypatch.setattr(anchoring, "END_S", 0.05)
    said: list[str] = []
    going = Rounds(
        place.store, place.keys, plan([authority.url], None, ()), 60, lambda sentence, hint: said.append(sentence)
    )
    going.begin()
    assert came.wait(30)
    going.close()
    assert said == ["the end of the log is not anchored: somebody outside did not answer in time"]
    may_go.set()
    going.join()


def test_what_fails_is_said_once_until_it_works_again(place: Folders, authority: TimeAuthority) -> None:
    said: list[str] = []
    wanted = plan([authority.url], None, ())
    going = Rounds(place.store, place.keys, wanted, 60, lambda sentence, hint: said.append(sentence))
    authority.answer = lambda asked, query: (503, "text/plain", b"")
    going.go()
    going.go()
    assert len(said) == 1
    authority.answer = granted
    going.go()
    record_tape(place, "more")
    authority.answer = lambda asked, query: (503, "text/plain", b"")
    going.go()
    assert len(said) == 2
    (place.store / "edgetape.db").rename(place.store / "gone.db")
    going.go()
    going.go()
    assert len(said) == 3
