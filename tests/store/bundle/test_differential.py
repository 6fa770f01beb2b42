"""Two verifiers, one verdict: whatever somebody does to a bundle, verify.py ends as `edgetape verify` does."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from store.bundle.proof import verify_bundle
from store.reader import Reader
from store.writer import Writer
from tests.store.bundle.forger import Forger
from tests.store.bundle.parcel import Parcel, export, judge
from tests.support.sample import Sample
from tests.support.tape import Tape


@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    "words, proofs, bodies",
    [
        (("closed",), False, True),
        (("other", "open"), False, True),
        (("open",), False, False),
        (("closed",), True, True),
    ],
)
def test_a_forged_bundle_is_judged_alike(
    words: Sequence[str], proofs: bool, bodies: bool, recorded: Path, sample: Sample, tmp_path: Path
) -> None:
    with contextlib.closing(Writer.open(recorded, recorded.parent / "keys")) as writer:
        made = Tape(recorded, recorded.parent / "keys", writer)
        with Reader.open(recorded, made.keys) as reader:
            runs = [reader.identify(word) for word in words]
        for run in runs:
            made.annotate(run, 1, "about the first request")
            made.annotate(run, 3, "about the second")
    raw = export(recorded, *words, proofs=proofs, bodies=bodies)
    path, source = tmp_path / "forged.zip", sample.source()
    ends = []
    for number in range(sample.count(50, 20_000)):
        parcel = Parcel(raw)
        Forger(parcel, source).strike()
        verdict = verify_bundle(parcel.write(path))
        code, findings, line = judge(path)
        if {each.code for each in verdict.findings} == {"V206"}:
            continue  # verify.py reads no member that it does not need
        assert code == verdict.exit_code, (number, findings, list(map(str, verdict.findings)))
        assert code == 20 or line == verdict.line, number
        ends.append(code)
    sample.measured(f"{len(ends)} forged bundles, alike; {ends.count(0)} of them whole, {ends.count(30)} incomplete")
