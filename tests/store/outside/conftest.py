"""Those outside, and a store that has something to show them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.founding import founding
from tests.store.verify.attacker import Attacker
from tests.support.tape import Call, Tape, tape
from tests.support.time_authority import TimeAuthority, stamping
from tests.support.witness import Witness, witnessing


@pytest.fixture(scope="session")
def authority_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the authority of this session has its certificates."""
    return tmp_path_factory.mktemp("authority") / "tsa"


@pytest.fixture
def authority(authority_folder: Path) -> Iterator[TimeAuthority]:
    """A time stamp authority that answers honestly, until a test has it do otherwise."""
    with stamping(authority_folder) as made:
        yield made


@pytest.fixture
def recorded(tmp_path: Path) -> Tape:
    """A store with one closed run."""
    with tape(tmp_path) as made:
        made.run([Call()], "one")
    return made


@pytest.fixture
def witness(recorded: Tape) -> Iterator[Witness]:
    """A witness that knows the log of that store."""
    with witnessing(known(recorded)) as made:
        yield made


def known(made: Tape) -> dict[str, str]:
    """The vkey of a store, by its origin."""
    attacker = Attacker(made.folder)
    found = founding(attacker.db)
    attacker.db.close()
    assert found is not None
    return {found.origin: found.vkey}
