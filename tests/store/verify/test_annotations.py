"""The tamper matrix of annotations: each attack gives its code in their own verdict, and leaves the log's as it is."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from store.core.annotation import Kept, Words
from store.verify import Verdict, verify, verify_records
from tests.store.verify.attacker import Attacker
from tests.store.verify.attacks.remarks import CASES, repoint
from tests.store.verify.copied import Copy
from tests.store.verify.states import annotated as annotate
from tests.support.verifier import verify as second


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base folder of a store with a run in each state, each with three annotations, and `other` without."""
    return annotate(tmp_path_factory.mktemp("annotated"))


@pytest.fixture
def attacker(annotated: Path, tmp_path: Path) -> Iterator[Attacker]:
    shutil.copytree(annotated, tmp_path / "attacked")
    made = Attacker(tmp_path / "attacked" / "store", blocks=True)
    yield made
    made.db.close()


def judged(attacker: Attacker, run: str | None = None) -> Verdict:
    """What is said, after seeing that the second verifier says the same."""
    attacker.close()
    verdict = verify(attacker.folder, attacker.keys, run)
    theirs = second(attacker.folder, attacker.keys, run)
    ours = Counter((each.code, each.run, each.seq) for each in verdict.remarks.findings)
    assert (ours, verdict.exit_code) == (Counter(theirs.remarks), theirs.exit_status)
    assert not theirs.findings
    return verdict


def test_untouched_annotations_are_verified(attacker: Attacker) -> None:
    verdict = judged(attacker)
    assert (verdict.exit_code, verdict.word, verdict.remarks.word) == (0, "VERIFIED", "VERIFIED")
    assert verdict.remarks.line == "VERIFIED (ANNOTATIONS_ERASED 1) annotations: 10"
    assert verdict.record["annotations"]


# One attack for each code does for an open run.
ON_OPEN = {case.code: name for name, case in reversed(list(CASES.items()))}.values()
ATTACKS = [("closed", name) for name in CASES] + [("open", name) for name in ON_OPEN]


@pytest.mark.parametrize("state, name", ATTACKS)
def test_an_attack_on_annotations_is_found_and_harms_no_log(state: str, name: str, attacker: Attacker) -> None:
    case = CASES[name]
    case.attack(attacker, attacker.run(state))
    verdict = judged(attacker)
    assert (verdict.findings, verdict.word, verdict.exit_code) == ((), "VERIFIED", 10)
    assert verdict.remarks.word == "INVALID"
    found = [(each.code, each.seq) for each in verdict.remarks.findings]
    assert (case.code, case.seq) in found, found
    assert verdict.is_sound


def test_a_text_that_is_erased_on_record_may_not_come_back(attacker: Attacker) -> None:
    run = attacker.run("with erasures")
    query = "INSERT INTO annotation_texts SELECT run, 3, stored FROM annotation_texts WHERE run = ? AND number = 2"
    attacker.db.execute(query, (run,))
    assert [(each.code, each.seq) for each in judged(attacker, run).remarks.findings] == [("V704", 5)]


def test_a_verdict_on_one_run_says_nothing_of_the_annotations_of_others(attacker: Attacker) -> None:
    repoint(attacker, attacker.run("open"))
    assert judged(attacker, attacker.run("closed")).exit_code == 0


def test_texts_that_no_key_opens_are_incomplete(attacker: Attacker) -> None:
    for path in attacker.keys.glob("*.storekey"):
        path.unlink()
    verdict = judged(attacker)
    assert (verdict.exit_code, verdict.remarks.word) == (30, "INCOMPLETE")
    assert verdict.remarks.counts["ANNOTATIONS_LOCKED"] == 9


def test_no_byte_of_an_annotation_can_be_changed(annotated: Path) -> None:
    records = Copy.of(annotated / "store", annotated / "keys")
    for run, said in sorted(records.said.items())[:1]:
        for at, kept in enumerate(said):
            for changed in _changes(kept):
                rows = [*said[:at], changed, *said[at + 1 :]]
                remarks = verify_records(replace(records, said={**records.said, run: rows}), run).remarks
                assert remarks.word != "VERIFIED", changed


def _changes(kept: Kept) -> list[Kept]:
    """An annotation with each of some bytes changed, and each of some of its words."""
    assert isinstance(kept.words, Words)
    raws = [kept.raw[:at] + bytes([kept.raw[at] ^ 1]) + kept.raw[at + 1 :] for at in range(0, len(kept.raw), 37)]
    stored = kept.words.stored
    words = [stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :] for at in range(0, len(stored), 9)]
    return [replace(kept, raw=raw) for raw in raws] + [replace(kept, words=Words.of(each)) for each in words]
