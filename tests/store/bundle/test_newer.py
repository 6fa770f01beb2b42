"""A record of a later version: neither verifier judges it, and neither says that all is well."""

from pathlib import Path

import pytest

from tests.store.bundle.parcel import Parcel, both


@pytest.mark.parametrize("seq", range(8))
def test_a_newer_event_makes_the_verdict_incomplete_with_both(seq: int, parcel: Parcel, tmp_path: Path) -> None:
    parcel.edit("events.ndjson", seq, lambda record: record.update(v=2))
    parcel.seal()
    assert both(parcel.write(tmp_path / "newer.zip")) == (30, [])
