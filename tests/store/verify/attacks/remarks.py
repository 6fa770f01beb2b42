"""Attacks on the annotations of a run: `said` at the events 1, 3 and 3, the last of them a correction."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from store.core import digest
from tests.store.verify.attacker import Attacker, Record, encoded

TABLES = ("annotations", "annotation_texts")

type Attack = Callable[[Attacker, str], None]


@dataclass(frozen=True, slots=True)
class Case:
    """An attack on the annotations of a run, and what is said first: the code, and the seq of the event."""

    code: str
    seq: int | None
    attack: Attack


def _raw(attacker: Attacker, run: str, number: int) -> bytes:
    query = "SELECT annotation FROM annotations WHERE run = ? AND number = ?"
    ((raw,),) = attacker.db.execute(query, (run, number)).fetchall()
    return bytes(raw)


def _put(attacker: Attacker, run: str, number: int, record: Record) -> None:
    query = "UPDATE annotations SET annotation = ? WHERE run = ? AND number = ?"
    attacker.db.execute(query, (encoded(record), run, number))


def _edit(attacker: Attacker, run: str, number: int, /, **members: object) -> None:
    _put(attacker, run, number, json.loads(_raw(attacker, run, number)) | members)


def _rechain(attacker: Attacker, run: str) -> None:
    for number in (1, 2):
        before = digest.annotation_hash(_raw(attacker, run, number - 1)).hex()
        _edit(attacker, run, number, prev=before)


def _drop(attacker: Attacker, run: str, first: int, last: int) -> None:
    for table in TABLES:
        attacker.db.execute(f"DELETE FROM {table} WHERE run = ? AND number BETWEEN ? AND ?", (run, first, last))


def drop_last(attacker: Attacker, run: str) -> None:
    _drop(attacker, run, 2, 2)


def drop_all(attacker: Attacker, run: str) -> None:
    _drop(attacker, run, 0, 2)


def drop_middle(attacker: Attacker, run: str) -> None:
    _drop(attacker, run, 1, 1)


def close_the_gap(attacker: Attacker, run: str) -> None:
    drop_middle(attacker, run)
    for table in TABLES:
        attacker.db.execute(f"UPDATE {table} SET number = 1 WHERE run = ? AND number = 2", (run,))
    _edit(attacker, run, 1, number=1, prev=digest.annotation_hash(_raw(attacker, run, 0)).hex(), supersedes=0)


def edit(attacker: Attacker, run: str) -> None:
    _edit(attacker, run, 1, by="somebody else")


def edit_and_rechain(attacker: Attacker, run: str) -> None:
    _edit(attacker, run, 0, kind="approval")
    _rechain(attacker, run)


def spell(attacker: Attacker, run: str) -> None:
    query = "UPDATE annotations SET annotation = CAST(replace(CAST(annotation AS TEXT), ',', ', ') AS BLOB)"
    attacker.db.execute(f"{query} WHERE run = ? AND number = 1", (run,))


def put_in(attacker: Attacker, run: str) -> None:
    record = json.loads(_raw(attacker, run, 1))
    record |= {"number": 3, "prev": digest.annotation_hash(_raw(attacker, run, 2)).hex()}
    attacker.db.execute("INSERT INTO annotations VALUES (?, 3, ?)", (run, encoded(record)))
    query = "INSERT INTO annotation_texts SELECT run, 3, stored FROM annotation_texts WHERE run = ? AND number = 1"
    attacker.db.execute(query, (run,))


def repoint(attacker: Attacker, run: str) -> None:
    _edit(attacker, run, 0, seq=2)


def repoint_wholly(attacker: Attacker, run: str) -> None:
    _edit(attacker, run, 0, seq=2, event_hash=digest.event_hash(attacker.raws(run)[2]).hex())
    _rechain(attacker, run)


def other_run(attacker: Attacker, run: str) -> None:
    other = attacker.run("other")
    for table in TABLES:
        attacker.db.execute(f"UPDATE {table} SET run = ? WHERE run = ?", (other, run))


def no_run(attacker: Attacker, run: str) -> None:
    query = "INSERT INTO annotations SELECT 'none', number, annotation FROM annotations WHERE run = ?"
    attacker.db.execute(query, (run,))


def drop_text(attacker: Attacker, run: str) -> None:
    attacker.db.execute("DELETE FROM annotation_texts WHERE run = ? AND number = 1", (run,))


def swap_texts(attacker: Attacker, run: str) -> None:
    query = "UPDATE annotation_texts SET stored = (SELECT stored FROM annotation_texts WHERE run = ?1 AND number = 2)"
    attacker.db.execute(f"{query} WHERE run = ?1 AND number = 1", (run,))


def flip_text(attacker: Attacker, run: str) -> None:
    query = "SELECT stored FROM annotation_texts WHERE run = ? AND number = 1"
    ((stored,),) = attacker.db.execute(query, (run,)).fetchall()
    changed = stored[:20] + bytes([stored[20] ^ 1]) + stored[21:]
    attacker.db.execute("UPDATE annotation_texts SET stored = ? WHERE run = ? AND number = 1", (changed, run))


CASES: Mapping[str, Case] = {
    "T29 the newest annotation cut off": Case("V703", None, drop_last),
    "T29 all annotations deleted": Case("V703", None, drop_all),
    "T29 an annotation deleted between others": Case("V701", None, drop_middle),
    "T29 an annotation deleted and all re-chained": Case("V701", 3, close_the_gap),
    "T29 an annotation edited": Case("V701", 3, edit),
    "T29 an annotation edited and all re-chained": Case("V701", 1, edit_and_rechain),
    "T29 an annotation in another spelling": Case("V701", None, spell),
    "T29 an annotation put in without the key": Case("V701", 3, put_in),
    "T29 the text of an annotation deleted": Case("V704", 3, drop_text),
    "T29 the texts of two annotations swapped": Case("V704", 3, swap_texts),
    "T29 a byte of an annotation's text flipped": Case("V704", 3, flip_text),
    "T30 an annotation re-pointed": Case("V702", 2, repoint),
    "T30 an annotation re-pointed with its hash and re-chained": Case("V701", 2, repoint_wholly),
    "T30 the annotations given to another run": Case("V703", None, other_run),
    "T30 annotations of a run that is not there": Case("V702", None, no_run),
}
