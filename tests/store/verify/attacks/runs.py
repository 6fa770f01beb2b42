"""Attacks on the events of a run and on the catalogue of runs."""

import json

from store.core import digest, merkle
from tests.store.verify.attacker import MIDDLE, Attacker, encoded


def nothing_at_all(attacker: Attacker) -> None:
    """Leaves the store as it is."""


def empty(attacker: Attacker) -> None:
    for table in ("events", "openings", "payloads", "blocks", "keys", "runs", "checkpoints"):
        attacker.db.execute(f"DELETE FROM {table}")
    attacker.cut_log(1)


def drop_middle(attacker: Attacker) -> None:
    attacker.drop(attacker.run("closed"), MIDDLE)


def drop_first(attacker: Attacker) -> None:
    attacker.drop(attacker.run("closed"), 0)


def reorder(attacker: Attacker) -> None:
    run = attacker.run("closed")
    raws = attacker.raws(run)
    attacker.put(run, MIDDLE, raws[MIDDLE + 1])
    attacker.put(run, MIDDLE + 1, raws[MIDDLE])


def splice(attacker: Attacker) -> None:
    attacker.put(attacker.run("closed"), MIDDLE, attacker.raws(attacker.run("other"))[MIDDLE])


def duplicate(attacker: Attacker) -> None:
    attacker.db.execute("CREATE TABLE copied AS SELECT * FROM events")
    attacker.db.execute("DROP TABLE events")
    attacker.db.execute("ALTER TABLE copied RENAME TO events")
    attacker.db.execute(
        "INSERT INTO events SELECT * FROM events WHERE run = ? AND seq = ?", (attacker.run("closed"), MIDDLE)
    )


def remove_run(attacker: Attacker) -> None:
    _remove(attacker, "closed")


def remove_open_run(attacker: Attacker) -> None:
    _remove(attacker, "open")


def _remove(attacker: Attacker, name: str) -> None:
    run = attacker.run(name)
    attacker.drop(run, 0, 99)
    attacker.db.execute("DELETE FROM runs WHERE id = ?", (run,))


def prune_in_name(attacker: Attacker) -> None:
    """A leaf that says that a run has left the store, which it has not."""
    ((size,),) = attacker.db.execute("SELECT COUNT(*) FROM leaves").fetchall()
    said: dict[str, object] = {"type": "retention.pruned", "run": attacker.run("closed"), "by": "x", "reason": "x"}
    said |= {"ts": "2026-11-30T02:00:34.378889Z", "v": 1}
    attacker.db.execute("INSERT INTO leaves (position, leaf) VALUES (?, ?)", (size, encoded(said)))
    attacker.regrow()


def unlogged_run(attacker: Attacker) -> str:
    """A copy of a run under another id, with all that belongs to it but its leaves."""
    run, copy = attacker.run("closed"), "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
    attacker.give_keys(copy)
    attacker.copy_openings(run, copy)
    for table, columns in (
        ("payloads", "seq, pointer, place"),
        ("events", "seq, hash, event"),
    ):
        attacker.db.execute(
            f"INSERT INTO {table} (run, {columns}) SELECT ?, {columns} FROM {table} WHERE run = ?", (copy, run)
        )
    attacker.put_log(copy, attacker.log_of(run))
    genesis = digest.genesis_prev(attacker.origin, copy).hex()
    attacker.edit(copy, 0, lambda record: record.update(run=copy, prev=genesis), rechain=False)
    for seq in range(1, 7):
        attacker.edit(copy, seq, lambda record: record.update(run=copy), rechain=False)
    attacker.drop(copy, 7)
    attacker.rechain(copy, 1)
    attacker.db.execute(
        "INSERT INTO runs SELECT ?, name, mode, workflow, parent, opened, '', 7, steps, headed FROM runs WHERE id = ?",
        (copy, run),
    )
    return copy


def other_genesis(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), 0, lambda record: record.update(prev="0" * 64))


def edit_first(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), 0, lambda record: record.update(recorder="another/1"))


def drop_tail(attacker: Attacker) -> None:
    attacker.drop(attacker.run("closed"), 5, 7)


def drop_sealed_tail(attacker: Attacker) -> None:
    attacker.drop(attacker.run("open"), 3, 4)


def remove_close(attacker: Attacker) -> None:
    attacker.drop(attacker.run("closed"), 7)


def _again(attacker: Attacker, run: str, seq: int, at: int) -> bytes:
    """An event once more, without its body, at a time that fits `at`."""
    raws = attacker.raws(run)
    record = json.loads(raws[seq]) | {"mono_us": json.loads(raws[at - 1])["mono_us"]}
    record.pop("body", None)
    return encoded(record)


def insert_event(attacker: Attacker) -> None:
    run = attacker.run("closed")
    attacker.insert(run, _again(attacker, run, 1, at=MIDDLE), MIDDLE)


def insert_into_open(attacker: Attacker) -> None:
    run = attacker.run("open")
    attacker.insert(run, _again(attacker, run, 1, at=2), 2)


def close_count(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), 7, lambda record: record.update(n=6))


def close_root(attacker: Attacker) -> None:
    attacker.edit(attacker.run("closed"), 7, lambda record: record.update(root="0" * 64))


def close_unlogged(attacker: Attacker) -> None:
    """Ends an open run, so that what was still to come is not missed."""

    run = attacker.run("open")
    raws = attacker.raws(run)
    last = json.loads(raws[-1])
    close = {
        **{name: last[name] for name in ("v", "run", "ts", "mono_us")},
        "type": "run.close",
        "n": len(raws),
        "head": digest.event_hash(raws[-1]).hex(),
        "root": merkle.Tree(raws).root.hex(),
        "reason": "normal",
        "counts": [],
    }
    attacker.insert(run, encoded(close), len(raws))
    attacker.recount(run)


def after_close(attacker: Attacker) -> None:
    run = attacker.run("closed")
    attacker.insert(run, _again(attacker, run, 5, at=8), 8)


def uncatalogued(attacker: Attacker) -> None:
    attacker.db.execute("DELETE FROM runs WHERE name = 'closed'")


def renamed(attacker: Attacker) -> None:
    attacker.db.execute("UPDATE runs SET name = 'harmless' WHERE name = 'closed'")


def catalogued_only(attacker: Attacker) -> None:
    run = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
    attacker.db.execute(
        "INSERT INTO runs SELECT ?, 'more', mode, '', '', opened, '', 1, 0, 1 FROM runs LIMIT 1", (run,)
    )
