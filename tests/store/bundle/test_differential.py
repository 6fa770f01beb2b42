"""Two verifiers, one verdict: whatever somebody does to a bundle, verify.py ends as `edgetape verify` does."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from store.bundle.proof import verify_bundle
from tests.store.bundle.forger import Forger
from tests.store.bundle.parcel import Parcel, export, judge
from tests.support.sample import Sample


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
    raw = export(recorded, *words, proofs=proofs, bodies=bodies)
    path, source = tmp_path / "forged.zip", sample.source()
    ends = []
    for number in range(sample.count(150, 20_000)):
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
