"""A run that says itself what it lacks: its bundle is written, incomplete wherever it is verified, and taken in."""

from pathlib import Path

from store.bundle.export import excerpt
from store.bundle.intake import take_in
from store.bundle.packing import members, write
from store.bundle.proof import verify_bundle
from store.core.draft import Draft
from store.core.model import Gap
from store.verify import verify
from tests.store.bundle.parcel import REPORT, export, judge
from tests.support.tape import Call, tape

TIME = "2026-11-30T02:00:34.378889Z"


def test_a_bundle_with_a_gap_is_incomplete_everywhere_and_still_evidence(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run([Call()], close=False)
        made.writer.append(run, Draft(Gap(since=TIME, until=TIME, reason="disk full")))
        made.writer.close_run(run, "normal").result(30)
        made.writer.checkpoint().result(30)
    path = tmp_path / "gap.zip"
    path.write_bytes(export(made.folder, run))
    verdict = verify_bundle(path)
    assert (verdict.word, verdict.exit_code, verdict.findings) == ("INCOMPLETE", 30, ())
    code, found, line = judge(path)
    assert (code, found) == (30, [])
    assert "GAPS 1" in line
    with excerpt(made.folder, made.keys, [run]) as taken:
        assert write(tmp_path / "again.zip", members(taken, REPORT, proofs=True, bodies=False)).is_sound
    with tape(tmp_path / "elsewhere") as other:
        take_in(path, other.writer)
    assert (verify(other.folder, other.keys).word, verify(other.folder, other.keys, run).word) == (
        "INCOMPLETE",
        "INCOMPLETE",
    )
