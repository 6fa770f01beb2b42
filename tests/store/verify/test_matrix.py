"""The tamper matrix: attack, kind of store, state of the run; what is said then, and the exit status.

SQLite stores: `test_tamper.CASES`, whose runs are closed and lie in rows or in blocks, here in every other state.
Bundles: `tests.store.bundle.attacks`. Annotations in both: `attacks.remarks` and `tests.store.bundle.test_annotations`.
PostgreSQL stores: the same attacks, in `test_served`. docs/security.md publishes the whole.
"""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from store.verify import Terms, first_bad, verify
from tests.docs.tamper import ELSEWHERE
from tests.layout.tree import ROOT
from tests.store.bundle import conftest as bundled
from tests.store.bundle.attacks import MEMBERS, SEALED
from tests.store.bundle.parcel import Parcel, both, export
from tests.store.verify.attacker import Attacker
from tests.store.verify.attacks import remarks
from tests.store.verify.conftest import CALLS
from tests.store.verify.states import STATES, made
from tests.store.verify.test_tamper import CASES

# Where a state makes another thing of an attack than `closed` does. What has no code passes: events above what is
# signed, which a program that goes on might have written, are told by UNSEALED_TAIL.
OTHERWISE: Mapping[tuple[str, str], tuple[str | None, int | None]] = {
    ("open", "T05 the tail of a closed run dropped"): ("V213", 7),
    ("open", "T07 the close record removed"): ("V213", 7),
    ("open", "T48 an event inserted and all re-chained"): ("V213", 7),
    ("open", "the close counts other events"): ("V206", 7),
    ("open", "the close states another root"): ("V206", 7),
    ("open", "T57 an event after the close"): (None, None),
    ("with erasures", "T48 an event inserted and all re-chained"): ("V601", 7),
}
BUNDLES_OTHERWISE = {("open", "T05 the last event dropped"): ("V213", 7)}


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A store for each state."""
    base = tmp_path_factory.mktemp("states")
    return {state: made(base / state.replace(" ", "-"), state, CALLS) for state in STATES}


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A bundle for each state; of a run tree both runs."""
    base = tmp_path_factory.mktemp("bundles")
    folders = {state: made(base / state.replace(" ", "-"), state, bundled.CALLS) / "store" for state in STATES}
    more = {"in a run tree": ("child",)}
    return {state: export(folder, "closed", *more.get(state, ())) for state, folder in folders.items()}


@pytest.mark.parametrize("state", [state for state in STATES if state != "closed"])
@pytest.mark.parametrize("name", CASES)
def test_an_attack_on_a_store_is_found_in_every_state(
    name: str, state: str, stores: dict[str, Path], tmp_path: Path
) -> None:
    case = CASES[name]
    shutil.copytree(stores[state], tmp_path / "attacked")
    attacker = Attacker(tmp_path / "attacked" / "store", blocks=True)
    case.attack(attacker)
    attacker.close()
    verdict = verify(attacker.folder, attacker.keys, None, Terms(case.pin))
    code, seq = OTHERWISE.get((state, name), (case.code, case.seq))
    if code is None:
        assert verdict.exit_code == 0
        assert "UNSEALED_TAIL" in dict(verdict.flags)
        return
    first = verdict.findings[0] if seq is None else first_bad(verdict.findings)
    assert first is not None
    assert (first.code, first.seq, verdict.exit_code) == (code, seq, case.exit_code), list(map(str, verdict.findings))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", SEALED)
def test_an_attack_on_a_bundle_is_found_in_every_state(
    name: str, state: str, bundles: dict[str, bytes], tmp_path: Path
) -> None:
    parcel = Parcel(bundles[state])
    attack, expected = SEALED[name]
    attack(parcel)
    parcel.seal()
    code, findings = both(parcel.write(tmp_path / "attacked.zip"))
    assert code == 20
    other = BUNDLES_OTHERWISE.get((state, name))
    assert ({other} if other else expected) <= set(findings)


def test_t50_the_parent_of_a_run_cannot_be_changed(stores: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(stores["in a run tree"], tmp_path / "attacked")
    attacker = Attacker(tmp_path / "attacked" / "store", blocks=True)
    child = attacker.run("child")
    attacker.edit(child, 0, lambda record: record.update(parent={"run": child, "seq": 0, "event_hash": "0" * 64}))
    attacker.close()
    first = first_bad(verify(attacker.folder, attacker.keys).findings)
    assert first is not None
    assert (first.code, first.run, first.seq) == ("V212", child, 0)


NUMBERS = {f"T{number:02}" for number in range(1, 61)} - {"T49"}  # which is none


def test_every_number_of_the_matrix_has_its_test() -> None:
    named = {match[0] for name in (*CASES, *remarks.CASES, *SEALED, *MEMBERS) if (match := re.match(r"T\d\d", name))}
    assert NUMBERS - named - set(ELSEWHERE) == set()
    for number, (_, _, place) in ELSEWHERE.items():
        assert (ROOT / place).exists(), number
