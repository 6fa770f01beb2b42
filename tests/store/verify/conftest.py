"""A sealed store to attack: two closed runs, and an open one whose last event no checkpoint covers."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.verify.attacker import Attacker
from tests.store.verify.states import CALLS
from tests.support.tape import tape

__all__ = ["CALLS"]


@pytest.fixture(scope="session")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base folder of a store: `closed` (8 events), `other` (8 events), `open` (5 events, of which 4 are sealed)."""
    base = tmp_path_factory.mktemp("sealed")
    with tape(base) as made:
        made.run(CALLS, "closed")
        made.run(CALLS, "other")
        run = made.run(CALLS[:1], "open", close=False)
        made.note(run, b"sealed")
        made.writer.checkpoint().result(30)
        made.note(run, b"unsealed").result(30)
        shutil.copytree(base, base / "copy")
    return base / "copy"


@pytest.fixture(params=[False, True], ids=["rows", "blocks"])
def attacker(sealed: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Attacker]:
    """Somebody who has a copy of it, and leaves its closed runs in this form."""
    shutil.copytree(sealed, tmp_path / "attacked")
    made = Attacker(tmp_path / "attacked" / "store", blocks=request.param)
    yield made
    made.db.close()
