"""Events are read one behind the other, and the first that does not fit ends the reading."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from store.linkage import Unlinked
from store.reader import Reader
from tests.store.verify.attacker import Attacker
from tests.store.verify.attacks import events, runs
from tests.support.tape import Call, tape


@pytest.fixture
def attacker(tmp_path: Path) -> Iterator[Attacker]:
    """Somebody who may write into a store with the runs `closed` and `other`."""
    with tape(tmp_path) as made:
        made.run([Call()] * 3, "closed")
        made.run([Call()] * 3, "other")
    attacker = Attacker(made.folder)
    yield attacker
    attacker.db.close()


def test_a_sound_run_is_read_as_it_is(tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        run = made.run([Call()] * 3)
    with Reader.open(made.folder, made.keys) as reader:
        assert list(reader.linked_events(run)) == list(reader.events(run))


ATTACKS = [
    events.edit_field,
    events.edit_hash,
    events.edit_and_hash,
    runs.drop_middle,
    runs.drop_first,
    runs.reorder,
    runs.splice,
    runs.other_genesis,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_run_with_an_event_that_does_not_fit_is_refused(
    attack: Callable[[Attacker], object], attacker: Attacker
) -> None:
    run = attacker.run("closed")
    attack(attacker)
    attacker.close()
    with (
        Reader.open(attacker.folder, attacker.keys) as reader,
        pytest.raises(Unlinked, match="is not as it was recorded"),
    ):
        list(reader.linked_events(run))
