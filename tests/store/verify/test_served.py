"""The tamper matrix over PostgreSQL: what whoever owns the server makes of a store is found as it is in SQLite.

An attack is carried out on a copy in SQLite, and its rows are put into tables that have neither keys nor triggers, as
an owner can leave them: duplicates too.
"""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from store import database
from store.database.tables import tables
from store.verify import Terms, first_bad, verify
from store.writer import Writer
from tests.store.verify.attacker import Attacker
from tests.store.verify.attacks import remarks
from tests.store.verify.conftest import CALLS
from tests.store.verify.states import STATES, annotated, made
from tests.store.verify.test_matrix import OTHERWISE
from tests.store.verify.test_tamper import CASES
from tests.support.postgres import Postgres

# One of each kind: an event, its chain, a run, the log, its tree, a signature, a key, an opening, a body, a duplicate.
ALWAYS = (
    "T35 bytes that are no UTF-8",
    "T02 a field edited and all re-chained",
    "T09 an event twice",
    "T09 a checkpoint twice",
    "T12 a run removed",
    "T33 white space in an event",
    "a leaf edited and the tree regrown",
    "T16 every checkpoint signed with a new key",
    "T26 a body erased without a record",
    "T28 a forged opening: salt",
    "T03 a byte of a payload flipped",
)


@pytest.fixture(scope="module")
def open_tables(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The home and the schema of a store whose tables let anything in."""
    base, schema = tmp_path_factory.mktemp("open"), postgres.schema()
    home = postgres.store(base, schema)
    Writer.open(home, base / "keys").close()
    with postgres.connect(schema) as connection:
        for table in tables():
            connection.execute(f"ALTER TABLE {table.name} DISABLE TRIGGER USER")
            connection.execute(f"ALTER TABLE {table.name} DROP CONSTRAINT {table.name}_pkey")
    return home, schema


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, Path]:
    """A store for each state; not for all of them, where only some attacks are tried."""
    base = tmp_path_factory.mktemp("served-states")
    wanted = STATES if request.config.option.soak else ("closed", "with erasures")
    return {state: made(base / state.replace(" ", "-"), state, CALLS) for state in wanted}


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with annotations."""
    return annotated(tmp_path_factory.mktemp("served-annotations"))


def put(postgres: Postgres, schema: str, folder: Path) -> None:
    """Puts the rows of a SQLite store in the place of those of a schema."""
    with (
        contextlib.closing(sqlite3.connect(folder / database.FILE_NAME)) as file,
        postgres.connect(schema) as connection,
    ):
        for table in tables():
            connection.execute(f"TRUNCATE {table.name}")
            columns = ", ".join(name for name, _ in table.columns)
            with connection.cursor().copy(f"COPY {table.name} ({columns}) FROM STDIN") as copy:
                for row in file.execute(f"SELECT {columns} FROM {table.name}"):
                    copy.write_row(row)


ATTACKS = [
    pytest.param(state, name, marks=() if (state, name in ALWAYS) == ("closed", True) else pytest.mark.soak)
    for state in STATES
    for name in CASES
]


@pytest.mark.parametrize("state, name", ATTACKS)
def test_an_attack_on_a_served_store_is_found(
    state: str,
    name: str,
    postgres: Postgres,
    open_tables: tuple[Path, str],
    states: dict[str, Path],
    tmp_path: Path,
) -> None:
    (home, schema), case = open_tables, CASES[name]
    shutil.copytree(states[state], tmp_path / "attacked")
    attacker = Attacker(tmp_path / "attacked" / "store", blocks=case.seq is None)
    case.attack(attacker)
    attacker.close()
    put(postgres, schema, attacker.folder)
    verdict = verify(home, attacker.keys, None, Terms(case.pin))
    code, seq = OTHERWISE.get((state, name), (case.code, case.seq))
    told = [str(each) for each in verdict.findings]
    if code is None:
        assert verdict.exit_code == 0, told
        return
    first = verdict.findings[0] if seq is None else first_bad(verdict.findings)
    assert first is not None
    assert (first.code, first.seq, verdict.exit_code) == (code, seq, case.exit_code), told


SPOKEN = [
    pytest.param(
        name,
        marks=() if name in ("T29 the newest annotation cut off", "T30 an annotation re-pointed") else pytest.mark.soak,
    )
    for name in remarks.CASES
]


@pytest.mark.parametrize("name", SPOKEN)
def test_an_attack_on_annotations_in_a_served_store_is_found(
    name: str, postgres: Postgres, open_tables: tuple[Path, str], spoken: Path, tmp_path: Path
) -> None:
    (home, schema), case = open_tables, remarks.CASES[name]
    shutil.copytree(spoken, tmp_path / "attacked")
    attacker = Attacker(tmp_path / "attacked" / "store", blocks=True)
    case.attack(attacker, attacker.run("closed"))
    attacker.close()
    put(postgres, schema, attacker.folder)
    verdict = verify(home, attacker.keys)
    assert (verdict.findings, verdict.exit_code) == ((), 10)
    assert verdict.remarks == verify(attacker.folder, attacker.keys).remarks
    assert (case.code, case.seq) in [(each.code, each.seq) for each in verdict.remarks.findings]


def test_what_nobody_attacked_passes(
    postgres: Postgres, open_tables: tuple[Path, str], states: dict[str, Path]
) -> None:
    for base in states.values():
        put(postgres, open_tables[1], base / "store")
        assert verify(open_tables[0], base / "keys") == verify(base / "store", base / "keys")


def test_who_verifies_can_write_nothing(open_tables: tuple[Path, str]) -> None:
    with (
        contextlib.closing(database.open_for_reading(open_tables[0])) as connection,
        pytest.raises(database.FAULTS, match="read-only"),
    ):
        connection.execute("DELETE FROM leaves")
