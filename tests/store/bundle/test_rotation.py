"""Bundles of a log whose key was rotated: both verifiers follow, with a pin on either key."""

from pathlib import Path

import pytest

from store import custody
from tests.store.bundle.conftest import CALLS
from tests.store.bundle.parcel import Parcel, both, export
from tests.support.tape import tape


@pytest.mark.parametrize("proofs", [False, True])
def test_both_verifiers_follow_a_rotation(proofs: bool, tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        made.run(CALLS, "before")
    store = tmp_path / "store"
    first = Parcel(export(store, "before", proofs=proofs))
    new = custody.rotate(store, tmp_path / "keys")
    with tape(tmp_path) as made:
        made.run(CALLS, "after")
    second = Parcel(export(store, "after", proofs=proofs))
    assert second.members["vkey"].decode() == f"{new}\n"
    old = first.members["vkey"].decode().strip()
    for parcel, keys in ((first, [old]), (second, [old, str(new)])):
        path = parcel.write(tmp_path / "x.zip")
        assert both(path) == (0, [])
        for key in keys:
            assert both(path, key) == (0, [])
    assert both(first.write(tmp_path / "x.zip"), str(new))[0] == 20
