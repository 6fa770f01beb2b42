"""Kinds of damage to a store: of every row and column, of single bits and of whole tails, bare or covered up."""

import json
import random
from collections.abc import Callable
from hashlib import sha256

from tests.support.verifier.damage import KEYS, Cell, Damage, canon, loose
from tests.support.verifier.hashes import annotation_hash, event_hash
from tests.support.verifier.stored import block, piece, respan, rewrap

HASH = "0" * 64
RUN = "01a22a2e-b6be-7656-8816-ef10f9415b00"
NOW = "2026-11-30T02:00:34.378889Z"
VALUES: list[object] = [
    0, 1, -1, 2, 5, 10**6, 2**53, True, False, None, 1.5, "", "x", "x" * 1025, "agent", "😀", HASH, "A" * 64, RUN,
    RUN.upper(), NOW, NOW.lower(), "2026-13-40T99:99:99.999999Z", [], {}, [[]], ["a"], [1], [["a"]], [["a", "b"]],
    [["a", 1]], [["a", True]], [["a", "b", "c"]], ["ab"], [[{"b64": "_w"}, {"body": HASH}]], {"body": HASH},
    {"body": "x"}, {"body": HASH, "x": 1}, {"b64": "_w"}, {"b64": "_x"}, {"b64": "_"}, {"b64": "/w"}, {"b64": "aGk"},
    {"b64": "_w=="}, {"b64": 1}, {"root": HASH, "size": 2}, {"root": HASH, "size": -1}, {"root": HASH, "size": 10**6},
    {"name": "x"}, {"classification": "a", "redaction": "b"}, {"event_hash": HASH, "run": "x", "seq": -1},
]  # fmt: skip
BYTES: list[Callable[[bytes], bytes]] = [
    lambda data: data + b" ",
    lambda data: b"\xef\xbb\xbf" + data,
    lambda data: data.replace(b'"v":1', b'"v":1.0'),
    lambda data: data.replace(b'"v":1', b'"v":1,"v":1'),
    lambda data: data.replace(b'"type"', b'"\\u0074ype"'),
    lambda data: json.dumps(json.loads(data), indent=1).encode(),
    lambda data: data[: len(data) // 2],
    lambda data: data[:-1] + b',"zz":"' + b"x" * 65_535 + b'"}',
    lambda data: data[:-1] + b',"zz":' + b"[" * 20 + b"]" * 20 + b"}",
    lambda _: b"",
    lambda _: b"{}",
    lambda _: b"junk",
]


def flip(store: Damage) -> None:
    """Change a bit of some column of some row; a text stays UTF-8."""
    table = store.source.choice(list(KEYS))
    name = store.source.choice(store.columns(table))
    row = store.some(table, f"rowid, {name}")
    if not row or not (value := row[1]):
        return
    if isinstance(value, int):
        value ^= 1 << store.source.randrange(8)
    else:
        data = bytearray(value.encode() if isinstance(value, str) else value)
        data[store.source.randrange(len(data))] ^= 1 << store.source.randrange(4 if isinstance(value, str) else 8)
        value = data.decode() if isinstance(value, str) else bytes(data)
    store.change(table, row[0], **{name: value})


def delete(store: Damage) -> None:
    """Delete some rows, or all, of a table."""
    table = store.source.choice(list(KEYS))
    rows = store.sql(f"SELECT rowid FROM {table} ORDER BY {', '.join(KEYS[table])}")
    count = store.source.choice([1, 1, 1, 2, 3, len(rows)])
    for (rowid,) in store.source.sample(rows, min(count, len(rows))):
        store.sql(f"DELETE FROM {table} WHERE rowid = ?", rowid)


def move(store: Damage) -> None:
    """Give a row another key."""
    table = store.source.choice(list(KEYS))
    name = store.source.choice(KEYS[table])
    row = store.some(table, f"rowid, {name}")
    if row:
        texts = ["/body", "/zz"] if name == "pointer" else [RUN, *store.runs()]
        by = store.source.randint(1, 9)
        store.change(table, row[0], **{name: row[1] + by if isinstance(row[1], int) else store.source.choice(texts)})


def copy(store: Damage) -> None:
    """Insert a row again at another key."""
    table = store.source.choice(list(KEYS))
    key = KEYS[table][-1]
    other = f"{key} || '/0'" if key == "pointer" else f"{key} + {store.source.choice([1, 2, 50, 1000])}"
    values = ", ".join(other if name == key else name for name in store.columns(table))
    row = store.some(table, "rowid")
    if row:
        store.sql(f"INSERT OR IGNORE INTO {table} SELECT {values} FROM {table} WHERE rowid = ?", row[0])


def double(store: Damage) -> None:
    """Have two rows of one key, which takes a table without one."""
    store.sql("CREATE TABLE again AS SELECT * FROM events")
    store.sql("DROP TABLE events")
    store.sql("ALTER TABLE again RENAME TO events")
    row = store.some("events", "rowid")
    store.sql("INSERT INTO events SELECT * FROM events WHERE rowid = ?", *row)


def swap(store: Damage) -> None:
    """Exchange what two rows hold, as a rule of two neighbours."""
    table = store.source.choice(list(KEYS))
    names = [name for name in store.columns(table) if name not in KEYS[table]]
    rows = store.sql(f"SELECT rowid, {', '.join(names)} FROM {table} ORDER BY {', '.join(KEYS[table])}")
    if len(rows) > 1:
        at = store.source.randrange(len(rows) - 1)
        one, other = rows[at], store.source.choice([rows[at + 1], rows[at + 1], store.source.choice(rows)])
        store.change(table, other[0], **dict(zip(names, one[1:], strict=True)))
        store.change(table, one[0], **dict(zip(names, other[1:], strict=True)))


def changed(data: bytes, source: random.Random) -> bytes:
    """Give a record with one member changed, added or left out, or bytes that are none."""
    if source.random() < 0.2:
        return source.choice(BYTES)(data)
    record = loose(data)
    name = source.choice([*record, *record, "zz", "tool", "exact", "checkpoint", "clock"])
    if source.random() < 0.15:
        record.pop(name, None)
    elif source.random() < 0.1:
        record["v"] = 2
    elif isinstance(old := record.get(name), int) and source.random() < 0.6:
        record[name] = max(0, old + source.choice([-5, -1, 1, 5]))
    elif name == "type":
        record[name] = source.choice(["run.open", "run.close", "note", "gap", "store.created", "run.head", "zz"])
    else:
        record[name] = source.choice(VALUES)
    return canon(record)


def edit(store: Damage) -> None:
    """Change an event, and cover it up as far as one likes."""
    which = store.source.choice(["1", "1", "seq = 0", "instr(event, x'72756e2e636c6f7365')"])
    found = store.some("events", "run, seq", which)
    if not found:
        return
    run, seq = found
    effort = store.source.randrange(4)
    store.write(run, seq, changed(store.event(run, seq), store.source), rehash=effort > 0)
    if effort > 1:
        store.rechain(run)
    if effort > 2:
        store.relog(run)
        store.resign()


def leaf(store: Damage) -> None:
    """Change a leaf, and make the nodes and signatures again or not."""
    position, data = store.some("leaves", "position, leaf", store.source.choice(["1", "1", "position = 0"]))
    if isinstance(data, bytes):
        store.change("leaves", position, leaf=changed(data, store.source))
        store.source.choice([store.regrow, store.resign, store.runs])()


def cut(store: Damage) -> None:
    """Take the end off a run, with its bodies or not, or off the checkpoints."""
    run, seq = store.some("events", "run, seq")
    for table in ("events", "openings", "payloads")[: store.source.randint(1, 3)]:
        store.sql(f"DELETE FROM {table} WHERE run = ? AND seq > ?", run, seq)


def cut_log(store: Damage) -> None:
    """Take the end off the log, with its nodes and checkpoints or not."""
    (position,) = store.some("leaves", "position")
    store.sql("DELETE FROM leaves WHERE position > ?", position)
    effort = store.source.randrange(4)
    if effort > 0:
        store.regrow()
    if effort > 1:
        store.sql("DELETE FROM checkpoints WHERE size > ? + 1", position)
    if effort > 2:
        store.resign()


def append(store: Damage) -> None:
    """Put an event behind a run."""
    run = store.source.choice(store.runs())
    last = store.seqs(run)[-1]
    record = loose(store.event(run, last - store.source.randrange(2)))
    record |= {"seq": last + 1, "prev": event_hash(store.event(run, last)).hex()}
    data = store.source.choice([canon(record), canon(record), b"junk", canon(record | {"v": 2})])
    columns = "run, seq, hash, event"
    store.sql(f"INSERT INTO events ({columns}) VALUES (?, ?, ?, ?)", run, last + 1, event_hash(data), data)


def append_leaf(store: Damage) -> None:
    """Put a leaf behind the log."""
    run = store.source.choice(store.runs())
    choices: list[dict[str, object]] = [
        {"type": "recorder.stop", "recorder": "x"},
        {"type": "recorder.stop", "recorder": "x", "v": 2},
        {"type": "run.head", "run": run, "n": store.source.choice([0, 1, 3, 999]), "head": HASH},
        {"type": "run.open", "run": run, "genesis": HASH, "head": HASH},
        {"type": "run.close", "run": run, "n": store.source.choice([3, 999]), "head": HASH, "root": HASH},
        {"type": "run.head", "run": RUN, "n": 3, "head": HASH},
        {"type": "retention.pruned", "run": run, "by": "x", "reason": "x"},
        {"type": "retention.pruned", "run": RUN, "by": "x", "reason": "x"},
        {"type": "store.created", "origin": "x", "vkey": "x"},
        {"type": "anchor", "kind": "cosignature", "size": store.source.choice([2, 999]), "sha256": HASH, "by": "x"},
        {"type": "zz"},
    ]
    data = canon({"ts": NOW, "v": 1} | store.source.choice(choices))
    beyond = store.source.choice([0, 0, 0, 3])
    store.sql("INSERT INTO leaves (position, leaf) VALUES (?, ?)", len(store.leaves()) + beyond, data)
    if not beyond:
        store.source.choice([store.regrow, store.resign, store.runs])()


def note(store: Damage) -> None:
    """Sign untrue checkpoints with a key of one's own, or spoil what is signed."""
    foreign = "\u2014 other.example AAAAAAAAAAAAAAAA\n"
    size = store.source.choice([0, 1, 2, 3, 999])
    lies: list[dict[str, str | int]] = [
        {}, {"origin": "x"}, {"size": size}, {"root": "A" * 43 + "="}, {"size": "03"}, {"root": "AAAA"}, {"root": "!"},
        {"origin": "x", "size": size}, {"before": foreign}, {"after": foreign}, {"after": "x"}, {"after": "\n"},
    ]  # fmt: skip
    if store.source.random() < 0.7:
        store.resign(**store.source.choice(lies))
        return
    lines = ["'x'", "note || char(10)", "replace(note, char(10), char(13, 10))", "substr(note, 2)", "note || note"]
    spoiled = store.source.choice(lines).replace("note", "CAST(note AS TEXT)")
    store.sql(
        f"UPDATE checkpoints SET note = CAST({spoiled} AS BLOB) WHERE size = ?", *store.some("checkpoints", "size")
    )


def empty_bytes(store: Damage) -> None:
    """Write a text without bytes as base64url."""
    run, seq = store.some("events", "run, seq", "seq = 0")
    store.write(run, seq, canon(loose(store.event(run, seq)) | {"name": {"b64": ""}}), rehash=True)


def opening(store: Damage) -> None:
    """Put an opening out of shape."""
    (rowid, length) = store.some("openings", "rowid, length")
    shapes: list[dict[str, Cell]] = [{"length": -1}, {"salt": b"x"}, {"sha256": bytes(32)}, {"pointer": "/zz"}]
    shapes.append({"length": int(length) + 1})
    store.change("openings", rowid, **store.source.choice(shapes))


def anchor(store: Damage) -> None:
    """Exchange what two anchors hold, or give one other bytes, with the digest that the leaf has of them or not."""
    rows = store.sql("SELECT rowid, position, content FROM anchors ORDER BY position")
    if not rows:
        return
    rowid, position, content = store.source.choice(rows)
    assert isinstance(content, bytes)
    others = [row[2] for row in rows if row[0] != rowid]
    new = store.source.choice([b"", b"junk\n", content + b"x", content[:-1], content[5:], *others])
    store.change("anchors", rowid, content=new)
    if store.source.random() < 0.7 and isinstance(new, bytes):
        ((data,),) = store.sql("SELECT leaf FROM leaves WHERE position = ?", position)
        assert isinstance(data, bytes)
        store.change("leaves", position, leaf=canon(loose(data) | {"sha256": sha256(new).hexdigest()}))
        store.regrow()
        store.resign()


def remark(store: Damage) -> None:
    """Change an annotation, and have the log say that it was always so, or not; or cut the last ones off."""
    row = store.some("annotations", "rowid, run, number, annotation")
    if not row:
        return
    rowid, run, number, cell = row
    data = bytes(cell) if isinstance(cell, bytes) else b""
    if store.source.random() < 0.2:
        store.sql("DELETE FROM annotations WHERE run = ? AND number >= ?", run, number)
        return
    new = changed(data, store.source)
    store.change("annotations", rowid, annotation=new)
    if store.source.random() < 0.5:
        for position, leaf in store.sql("SELECT position, leaf FROM leaves ORDER BY position"):
            record = loose(leaf) if isinstance(leaf, bytes) else {}
            if record.get("head") == annotation_hash(data):
                store.change("leaves", position, leaf=canon(record | {"head": annotation_hash(new)}))
        store.regrow()
        store.resign()


EDITS: list[Callable[[Damage], None]] = [edit, leaf, note, block, piece, respan, rewrap, opening, anchor, remark]
ATTACKS: list[Callable[[Damage], None]] = [
    *EDITS, remark, edit, flip, delete, move, copy, swap, edit, cut, cut_log, append, append_leaf, flip, leaf, double,
]  # fmt: skip
