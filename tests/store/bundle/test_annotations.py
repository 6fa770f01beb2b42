"""Annotations in a bundle: both verifiers judge them by themselves, and find what was done to them."""

import json
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

from store.bundle import verifier
from store.bundle.intake import take_in
from store.bundle.proof import verify_bundle
from store.core import annotation, digest
from store.erasure import Erasure
from tests.store.bundle.conftest import CALLS
from tests.store.bundle.parcel import Parcel, Record, export
from tests.support.tape import tape

MEMBER = "annotations.ndjson"

type Attack = Callable[[Parcel], object]


@pytest.fixture(scope="module")
def raws(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """Bundles of a run with four annotations, the last one's text erased; and of another one without any."""
    base = tmp_path_factory.mktemp("annotated")
    with tape(base) as made:
        run, silent = made.run(CALLS, "closed"), made.run(CALLS, "other")
        for seq in (1, 3, 3):
            made.annotate(run, seq, f"about {seq}", supersedes=None)
        made.annotate(run, 5, "to be erased", supersedes=None)
        made.writer.erase(Erasure(run, (5,), "x", "asked for")).result(30)
        made.writer.checkpoint().result(30)
        kinds = {"": {}, "proofs": {"proofs": True}, "withheld": {"bodies": False}}
        found = {name: export(made.folder, run, **given) for name, given in kinds.items()}
        return {**found, "silent": export(made.folder, silent), "both": export(made.folder, run, silent)}


def judged(path: Path) -> tuple[int, list[tuple[str, int | None]], str]:
    """Exit status, (code, seq) of what is said of annotations, their line; both verifiers say the same."""
    verdict = verify_bundle(path)
    said, heard = StringIO(), verifier.Outcome()
    with redirect_stdout(said), redirect_stderr(StringIO()):
        status = verifier.main([str(path)], verifier.Outcome(), heard)
    lines = said.getvalue().splitlines()
    found = sorted({(each.code, each.seq) for each in verdict.remarks.findings}, key=str)
    assert status == verdict.exit_code
    assert lines[-1] == verdict.line or status == 20
    assert sorted({(code, seq) for code, _, seq, _ in heard.findings}, key=str) == found
    assert found or verdict.remarks.line in ("", *lines[:-1])
    return status, found, verdict.remarks.line


@pytest.mark.parametrize(
    "kind, line",
    [
        ("", "VERIFIED (ANNOTATIONS_ERASED 1) annotations: 4"),
        ("proofs", "VERIFIED (ANNOTATIONS_ERASED 1) annotations: 4"),
        ("withheld", "VERIFIED (ANNOTATIONS_WITHHELD 4) annotations: 4"),
        ("both", "VERIFIED (ANNOTATIONS_ERASED 1) annotations: 4"),
        ("silent", ""),
    ],
)
def test_both_verifiers_judge_annotations_alike(
    kind: str, line: str, raws: Mapping[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "run.zip").write_bytes(raws[kind])
    assert judged(tmp_path / "run.zip") == (0, [], line)
    assert (MEMBER in Parcel(raws[kind]).members) == bool(line)


def lines(change: Callable[[list[bytes]], object]) -> Attack:
    def attack(parcel: Parcel) -> None:
        found = parcel.lines(MEMBER)
        change(found)
        parcel.put_lines(MEMBER, found)

    return attack


def edited(number: int, change: Callable[[Record], object], *, rechain: bool = False) -> Attack:
    """Changes what an annotation says, and links those behind it to it again, or not."""

    def attack(parcel: Parcel) -> None:
        _edit(parcel, number, change)
        for at in range(number + 1, len(parcel.lines(MEMBER)) if rechain else 0):
            before = digest.annotation_hash(_raw(parcel, at - 1)).hex()
            _edit(parcel, at, partial(dict.update, prev=before))

    return attack


def _edit(parcel: Parcel, number: int, change: Callable[[Record], object]) -> None:
    def within(line: Record) -> None:
        said = line["annotation"]
        assert isinstance(said, dict)
        change(said)

    parcel.edit(MEMBER, number, within)


def _raw(parcel: Parcel, number: int) -> bytes:
    record = json.loads(parcel.lines(MEMBER)[number])["annotation"]
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def swap(parcel: Parcel) -> None:
    first, second = (json.loads(parcel.lines(MEMBER)[number]) for number in (0, 1))
    parcel.edit(MEMBER, 0, lambda line: line.update(salt=second["salt"], text=second["text"]))
    parcel.edit(MEMBER, 1, lambda line: line.update(salt=first["salt"], text=first["text"]))


def without_text(line: Record) -> None:
    del line["text"], line["salt"]


def repoint(parcel: Parcel) -> None:
    other = digest.event_hash(parcel.lines("events.ndjson")[2]).hex()
    edited(0, lambda said: said.update(seq=2, event_hash=other), rechain=True)(parcel)


ATTACKS: Mapping[str, tuple[Attack, tuple[str, int | None]]] = {
    "T29 the newest annotation cut off": (lines(lambda each: each.pop()), ("V703", None)),
    "T29 all annotations taken out": (lambda parcel: parcel.members.pop(MEMBER), ("V703", None)),
    "T29 an annotation taken out between others": (lines(lambda each: each.pop(1)), ("V701", None)),
    "T29 two annotations reordered": (lines(lambda each: each.insert(0, each.pop(1))), ("V701", None)),
    "T29 an annotation twice": (lines(lambda each: each.insert(1, each[1])), ("V701", None)),
    "T29 an annotation edited": (edited(1, lambda said: said.update(by="x")), ("V701", 3)),
    "T29 an annotation edited and all re-chained": (
        edited(0, lambda said: said.update(by="x"), rechain=True),
        ("V701", 1),
    ),
    "T29 a line in another spelling": (
        lines(lambda each: each.__setitem__(1, each[1].replace(b",", b", ", 1))),
        ("V701", None),
    ),
    "T29 the text of an annotation changed": (
        lambda parcel: parcel.edit(MEMBER, 1, lambda line: line.update(text="other words")),
        ("V704", 3),
    ),
    "T29 the text of an annotation taken out": (lambda parcel: parcel.edit(MEMBER, 1, without_text), ("V704", 3)),
    "T29 a text where one was erased": (
        lambda parcel: parcel.edit(MEMBER, 3, lambda line: line.update(text="x", salt="A" * 43)),
        ("V704", 5),
    ),
    "T29 two texts swapped": (swap, ("V704", 3)),
    "T30 an annotation re-pointed": (edited(0, lambda said: said.update(seq=2)), ("V702", 2)),
    "T30 an annotation re-pointed and re-chained": (repoint, ("V701", 2)),
    "T30 an annotation given to another run": (
        edited(3, lambda said: said.update(run="01a22a2e-b6be-7656-8816-ef10f9415b00")),
        ("V702", None),
    ),
    "T54 an annotation of a later version": (edited(3, lambda said: said.update(v=2)), ("newer", None)),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_annotations_is_found_and_harms_no_log(
    name: str, raws: Mapping[str, bytes], tmp_path: Path
) -> None:
    parcel = Parcel(raws[""])
    attack, expected = ATTACKS[name]
    attack(parcel)
    parcel.seal()
    path = parcel.write(tmp_path / "attacked.zip")
    if expected[0] == "newer":
        verdict = verify_bundle(path)
        assert (verdict.exit_code, verdict.remarks.word) == (10, "INCOMPLETE")
        return
    status, found, line = judged(path)
    assert status == 10
    assert expected in found, found
    assert line.startswith("INVALID")


def test_annotations_that_do_not_verify_are_not_taken_in_but_the_run_is(
    raws: Mapping[str, bytes], tmp_path: Path
) -> None:
    parcel = Parcel(raws[""])
    swap(parcel)
    parcel.seal()
    path = parcel.write(tmp_path / "attacked.zip")
    with tape(tmp_path / "other") as made:
        verdict, runs = take_in(path, made.writer)
        assert (verdict.word, verdict.remarks.word, len(runs)) == ("VERIFIED", "INVALID", 1)
        made.annotate(runs[0], 1, "the first one here")
    again = verify_bundle(path)
    assert again.remarks.findings


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b"[" * 100_000 + b"\n", b'{"annotation":{}}\n', b"x"])
def test_whatever_stands_in_the_member_is_judged(content: bytes, raws: Mapping[str, bytes], tmp_path: Path) -> None:
    parcel = Parcel(raws["silent"])
    parcel.members[MEMBER] = content
    parcel.seal()
    status, found, _ = judged(parcel.write(tmp_path / "attacked.zip"))
    assert (status, [code for code, _ in found]) in ((10, ["V701"]), (20, []), (20, ["V701"]))


def test_the_hash_of_an_annotation_is_had_from_its_line_alone(raws: Mapping[str, bytes]) -> None:
    parcel = Parcel(raws[""])
    head = next(
        record
        for raw in reversed(parcel.lines("log.ndjson"))
        if (record := json.loads(raw))["type"] == "annotation.head"
    )
    raw = _raw(parcel, 3)
    assert annotation.decode(raw)[0].number == 3
    assert (head["n"], head["head"]) == (4, digest.annotation_hash(raw).hex())
