#!/usr/bin/env python3
"""Verifies an edgetape evidence bundle with nothing but Python 3.9: `python3 verify.py [BUNDLE|DIR] [--pin VKEY]`.

Written from docs/format.md (sections are those of that page), not from the program that writes bundles: a second
opinion. Exit status: 0 VERIFIED, 20 INVALID, 30 INCOMPLETE, 2 usage, 3 could not run.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256, sha512
from pathlib import Path
from struct import pack, unpack
from typing import Any
from zlib import crc32

KINDS = {
    "str": r".*",
    "hash": r"[0-9a-f]{64}",
    "run": r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "time": r"[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}\.[0-9]{6}Z",
}
# The members that this program builds on. Whatever else a record says is covered by its hash.
EVENT = {"": "type str run run seq count prev hash ts time mono_us count", "run.open": "origin str"}
EVENT["run.close"] = "n count head hash root hash"
LEAF = {"": "type str ts time", "store.created": "origin str vkey str", "run.open": "run run genesis hash head hash"}
LEAF.update({"run.head": "run run n count head hash", "run.close": "run run n count head hash root hash"})
LEAF["key.rotate"] = "old str new str old_signature str new_signature str"
OPENING = "run run seq count pointer str salt str sha256 hash length count"
MEMBERS = "README.txt|checkpoint|vkey|events.ndjson|hashes.txt|report.html|report.json|verify.py"

EMPTY = sha256(b"").hexdigest()  # the root of no leaves

Record = dict[str, Any]


class Broken(Exception):
    """Bytes that are not what they ought to be, and the code for it (section 7)."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code


class Outcome:
    """What is wrong, what is newer than this program, and the counts behind the flags."""

    def __init__(self) -> None:
        self.findings: list[tuple[str, int | None, str]] = []
        self.newer: list[str] = []
        self.counts: Counter[str] = Counter()

    def find(self, code: str, sentence: str, run: str = "", seq: int | None = None) -> None:
        """Adds a finding."""
        where = (f" run {run}" if run else "") + (f" seq {seq}" if seq is not None else "")
        self.findings.append((code, seq, f"{code}{where}: {sentence}"))


# Section 9: container and manifest.


def from_zip(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of a ZIP in the one form that there is; any other byte is refused."""
    directory, count, at = b"", 0, 0
    while raw[at : at + 4] == b"PK\x03\x04" and len(raw) >= at + 30:
        checksum, length, _, name_length = unpack("<3IH", raw[at + 14 : at + 28])
        start = at + 30 + name_length
        name, content = raw[at + 30 : start], raw[start : start + length]
        common = pack("<5H3I2H", 20, 0, 0, 0, 33, checksum, length, length, name_length, 0)
        if raw[at:start] != b"PK\x03\x04" + common + name or len(content) != length or crc32(content) != checksum:
            raise Broken("V105", f"the member at byte {at} is not plainly stored")
        directory += b"PK\x01\x02" + pack("<H", 0x314) + common + pack("<3H2I", 0, 0, 0, 0o100644 << 16, at) + name
        count, at = count + 1, start + length
        yield name.decode("latin-1"), content
    if count > 65_534:
        raise Broken("V106", "more than 65,534 members")
    if raw[at:] != directory + pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory), at, 0):
        raise Broken("V105", "its directory is not that of its members, or something stands behind it")


def from_folder(path: Path) -> Iterator[tuple[str, bytes]]:
    """The plain files of a folder; links are not followed."""
    for base, folders, files in os.walk(path):
        for place in (Path(base, name) for name in folders + files):
            mode = place.lstat().st_mode
            if not stat.S_ISDIR(mode):
                if not stat.S_ISREG(mode):
                    raise Broken("V105", f"{place} is no plain file")
                yield place.relative_to(path).as_posix(), place.read_bytes()


def load(path: Path) -> dict[str, bytes]:
    """All members of a bundle."""
    members: dict[str, bytes] = {}
    if path.is_file() and path.stat().st_size > (1 << 32) - 2:
        raise Broken("V106", "more than 4 GiB")
    for name, content in from_folder(path) if path.is_dir() else from_zip(path.read_bytes()):
        if name in members or ".." in name or not re.fullmatch("[A-Za-z][A-Za-z0-9.]*(/[a-z0-9][a-z0-9.-]*)?", name):
            raise Broken("V105", f"{name[:80]!r} occurs twice, or is no name of a member")
        members[name] = content
    return members


def manifest(members: dict[str, bytes], out: Outcome) -> Record:
    """What the bundle says of itself; its members are held against that."""
    raw = members.pop("manifest.json", b"")
    try:
        said: Record = json.loads(raw.decode("ascii"))
        fits = set(said) == {"format", "origin", "size", "runs", "log", "bodies", "members"}
        fits = fits and said["format"] == "edgetape/bundle/1" and has(said, "origin str size count")
        fits = fits and said["log"] in ("full", "proofs") and said["bodies"] in ("included", "withheld")
        fits = fits and all(is_a("run", run) for run in said["runs"]) and said["runs"] == sorted(set(said["runs"]))
        fits = fits and all(
            has(each, "bytes count sha256 hash") and len(each) == 2 for each in said["members"].values()
        )
        if not fits or (json.dumps(said, indent=1, sort_keys=True) + "\n").encode() != raw:
            raise ValueError("not the one spelling of a manifest")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Broken("V101", f"no manifest: {error}") from None
    needed = MEMBERS + ("|log.ndjson" if said["log"] == "full" else "")
    needed += "|openings.ndjson" if said["bodies"] == "included" else ""
    more = "|blobs/[0-9a-f]{64}" if said["bodies"] == "included" else ""
    more += r"|proofs/(0|[1-9][0-9]{0,14})\.tlog-proof" if said["log"] == "proofs" else ""
    more += r"|anchors/(0|[1-9][0-9]{0,14})\.(tsr|cosignature|checkpoint"
    more += "|consistency)" if said["log"] == "proofs" else ")"
    out.counts["anchors"] = len([name for name in members if name.startswith("anchors/")])
    for name in sorted(set(said["members"]) | set(members) | set(needed.split("|"))):
        listed, content = said["members"].get(name), members.get(name)
        if not re.fullmatch(needed + more, name) or (listed is None and content is not None):
            out.find("V102", name)
            members.pop(name, None)
        elif listed is None or content is None:
            out.find("V103", name)
        elif listed != {"bytes": len(content), "sha256": sha256(content).hexdigest()}:
            out.find("V104", name)
    return said


def lines(members: dict[str, bytes], name: str, out: Outcome) -> list[bytes]:
    """The lines of a member."""
    *found, rest = members.get(name, b"").split(b"\n")
    if rest:
        out.find("V104", f"the last line of {name} does not end")
    return [*found, rest] if rest else found


# Section 2: canonical records.


def record(raw: bytes) -> Record:
    """The record that these canonical bytes are."""
    if len(raw) > 65_535:
        raise Broken("V207", "longer than 65,535 bytes")
    try:
        value = json.loads(raw.decode(), object_pairs_hook=unique, parse_float=refuse, parse_constant=refuse)
        bounded(value, 1)
        again = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        if not isinstance(value, dict) or again != raw:
            raise ValueError("another spelling")
    except (ValueError, RecursionError) as error:
        raise Broken("V201", f"not canonical: {error}") from None
    return dict(value)


def unique(pairs: list[tuple[str, Any]]) -> Record:
    """An object whose member names occur once each and are of a-z, 0-9 and _."""
    if len(dict(pairs)) != len(pairs) or not all(re.fullmatch("[a-z0-9_]+", name) for name, _ in pairs):
        raise ValueError("a member name is not one, or occurs twice")
    return dict(pairs)


def refuse(source: str) -> None:
    """No number but an integer."""
    raise ValueError(f"{source[:20]} is no integer")


def bounded(value: object, depth: int) -> None:
    """At most 16 levels, integers within 2^53 - 1."""
    if depth > 16 or (type(value) is int and abs(value) >= 1 << 53):
        raise ValueError("too deep, or an integer beyond 2^53 - 1")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        bounded(item, depth + 1)


def is_a(kind: str, value: object) -> bool:
    """Whether a value is of this kind (section 4)."""
    if kind == "count":
        return type(value) is int and value >= 0
    return isinstance(value, str) and re.fullmatch(KINDS[kind], value, re.DOTALL) is not None


def has(said: Record, form: str) -> bool:
    """Whether a record has these members ("name kind name kind ...")."""
    words = form.split()
    return all(is_a(kind, said.get(name)) for name, kind in zip(words[::2], words[1::2]))


def typed(raw: bytes, forms: dict[str, str]) -> Record | None:
    """The record of version 1 that these bytes are; None for one that is newer."""
    said = record(raw)
    version = said.get("v")
    if type(version) is int and version > 1:
        return None
    if (
        type(version) is not int
        or version < 1
        or not has(said, forms[""])
        or not has(said, forms.get(said["type"], ""))
    ):
        raise Broken("V206", "a member is missing, or of another kind than it has to be")
    return said


# RFC 8032: Ed25519 in plain integers.

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
Point = tuple[int, int, int, int]


def point(raw: bytes) -> Point | None:
    """The point that 32 bytes encode (section 5.1.3)."""
    number = int.from_bytes(raw, "little")
    y, sign = number & (1 << 255) - 1, number >> 255
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P


def add(p: Point, q: Point) -> Point:
    """The sum of two points (section 5.1.4)."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(factor: int, base: Point) -> Point:
    """A point added to itself `factor` times."""
    total: Point = (0, 1, 1, 0)
    while factor:
        total = add(total, base) if factor & 1 else total
        base, factor = add(base, base), factor >> 1
    return total


def signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is the key's over the message (section 5.1.7)."""
    base = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    public, commitment, response = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or not base or not public or not commitment or response >= ORDER:
        return False
    challenge = int.from_bytes(sha512(signature[:32] + key + message).digest(), "little") % ORDER
    left, right = times(response, base), add(commitment, times(challenge, public))
    return all((left[i] * right[2] - right[i] * left[2]) % P == 0 for i in (0, 1))


# Sections 3 and 6: hashes, keys, checkpoints.


def leaf_hash(raw: bytes) -> bytes:
    """RFC 6962, section 2.1."""
    return sha256(b"\x00" + raw).digest()


def root_of(leaves: list[bytes]) -> bytes:
    """The Merkle tree hash over leaf hashes (RFC 6962, section 2.1)."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"").digest()
    middle = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\x01" + root_of(leaves[:middle]) + root_of(leaves[middle:])).digest()


def proven_root(index: int, size: int, node: bytes, path: list[bytes]) -> bytes:
    """The root that an inclusion proof leads to (RFC 6962, section 2.1.1); nothing for a path of another length."""
    if size <= 1 or not path:
        return node if size == 1 and index == 0 and not path else b""
    middle = 1 << (size - 1).bit_length() - 1
    if index < middle:
        below = proven_root(index, middle, node, path[:-1])
        return below and sha256(b"\x01" + below + path[-1]).digest()
    below = proven_root(index - middle, size - middle, node, path[:-1])
    return below and sha256(b"\x01" + path[-1] + below).digest()


class Key:
    """A vkey (C2SP signed-note): its name, its id, its label `name+id`, the Ed25519 key."""

    def __init__(self, vkey: str) -> None:
        self.name, _, rest = vkey.partition("+")
        raw = base64.b64decode(rest.partition("+")[2], validate=True)
        self.public, self.id = raw[1:], sha256(self.name.encode() + b"\n" + raw).digest()[:4]
        self.label = f"{self.name}+{self.id.hex()}"
        spelled = f"{self.label}+{base64.b64encode(raw).decode()}"
        self.vkey = vkey
        if spelled != vkey or len(raw) != 33 or raw[0] != 1 or not self.name or re.search(r"\s", self.name):
            raise ValueError("not the vkey of an Ed25519 key")


class Note:
    """A checkpoint (C2SP tlog-checkpoint): origin, size and root, and its signature lines."""

    def __init__(self, raw: bytes) -> None:
        head, _, tail = raw.decode().rpartition("\n\n")
        self.text, (self.origin, size, root) = f"{head}\n".encode(), head.split("\n")
        self.size, self.root, self.lines = int(size), base64.b64decode(root), tail.split("\n")
        fair = f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n".encode() == self.text
        line = re.compile("\u2014 ([^\\s+]+) ([A-Za-z0-9+/]+=*)")
        self.signatures = [(each[1], base64.b64decode(each[2])) for each in map(line.fullmatch, self.lines) if each]
        fair = fair and bool(self.origin) and self.size >= 0 and len(self.root) == 32
        fair = (
            fair and self.lines[len(self.signatures) :] == [""] and not re.search(r"[\x00-\x09\x0b-\x1f]", head + tail)
        )
        if (
            not fair
            or [f"\u2014 {name} {base64.b64encode(sig).decode()}" for name, sig in self.signatures] != self.lines[:-1]
        ):
            raise ValueError("not a checkpoint of three lines, with its signature")

    def signed_by(self, key: Key) -> bool:
        """Whether there are lines of this key, and all of them are true."""
        own = [raw[4:] for name, raw in self.signatures if name == key.name and raw[:4] == key.id]
        return bool(own) and all(signed(key.public, self.text, each) for each in own)


class Log:
    """Section 7, rules 6 to 8: what the log says once it is checked."""

    def __init__(self, said: Record, members: dict[str, bytes], pin: Key | None, out: Outcome) -> None:
        self.sealed, self.size, self.newer = "", said["size"], False
        self.origin: str | None = None
        self.keys: list[Key] = []  # in the order in which they came into force
        self.hashes, self.records = list[bytes](), dict[int, Record]()
        whole = said["log"] == "full"
        for at, raw in enumerate(lines(members, "log.ndjson", out)) if whole else self.proofs(members, out):
            self.hashes.append(leaf_hash(raw))
            try:
                leaf = typed(raw, LEAF)
                if leaf and (leaf["type"] == "store.created") != (at == 0):
                    raise Broken("V301", "a log begins with store.created, which comes nowhere else")
                self.newer = self.newer or leaf is None
                self.records[at] = leaf or {"type": "", "ts": ""}
                self.take_key(self.records[at])
            except (Broken, ValueError) as error:
                out.find("V301", f"leaf {at}: {error}")
        out.counts["PARTIAL_LOG"] = 0 if whole else self.size - len(self.hashes)
        self.hashes, self.size = (self.hashes, len(self.hashes)) if whole else ([], self.size)
        if self.newer:
            out.newer.append("the log has leaves that are newer than this program")
        first = self.records.get(0, {})
        if first.get("type") == "store.created":
            self.origin = first["origin"]
            if not self.key or members.get("vkey") != f"{self.key.vkey}\n".encode():
                out.find("V431", "the vkey that lies in the bundle is not the one that its log names")
            if pin and pin.vkey not in [key.vkey for key in self.keys]:
                out.find("V431", f"the log names other keys than the pinned one, {pin.label}")
        self.check(members, said, pin, out)

    def take_key(self, leaf: Record) -> None:
        """The key that a leaf brings into force: the first one, or one that it and the key before it have signed."""
        if leaf["type"] == "store.created":
            self.keys.append(Key(leaf["vkey"]))
        elif leaf["type"] == "key.rotate" and self.key:
            old, new = self.key, Key(leaf["new"])
            text = f"edgetape/key-rotate/v1\n{old.name}\n{old.vkey}\n{new.vkey}\n".encode()
            proven = [
                signed(key.public, text, base64.urlsafe_b64decode(leaf[name] + "=="))
                for key, name in ((old, "old_signature"), (new, "new_signature"))
            ]
            if (
                not all(proven)
                or leaf["old"] != old.vkey
                or new.name != old.name
                or new.vkey in [key.vkey for key in self.keys]
            ):
                raise Broken("V401", "it is not signed by both keys")
            self.keys.append(new)

    @property
    def key(self) -> Key | None:
        """The key that is in force at the end."""
        return self.keys[-1] if self.keys else None

    def proofs(self, members: dict[str, bytes], out: Outcome) -> Iterator[tuple[int, bytes]]:
        """The leaves that tlog-proofs carry (C2SP), each with its way to the checkpoint's root."""
        names = {int(name[7:-11]): name for name in members if name.startswith("proofs/")}
        if 0 not in names or self.size - 1 not in names:
            out.find("V403", "the first or the last leaf below the checkpoint is missing")
        for index, name in sorted(names.items()):
            head, _, note = members[name].partition(b"\n\n")
            try:
                leaf, *path = (
                    base64.b64decode(part) for part in re.findall(rb"(?m)^(?:extra )?([A-Za-z0-9+/]+=*)$", head)
                )
                again = [f"c2sp.org/tlog-proof@v1\nextra {base64.b64encode(leaf).decode()}\nindex {index}"]
                again += [base64.b64encode(each).decode() for each in path]
                root = proven_root(index, self.size, leaf_hash(leaf), path)
                if "\n".join(again).encode() != head or note != members.get("checkpoint") or root != Note(note).root:
                    raise ValueError("it does not lead to the root of the checkpoint")
                yield index, leaf
            except ValueError as error:
                out.find("V403", f"{name}: {error}")

    def check(self, members: dict[str, bytes], said: Record, pin: Key | None, out: Outcome) -> None:
        """The checkpoint: its signature, and what it states."""
        before, trusted = (
            len(out.findings),
            pin if pin and pin.vkey not in [key.vkey for key in self.keys] else self.key,
        )
        try:
            note = Note(members.get("checkpoint", b""))
        except ValueError as error:
            out.find("V401", f"the checkpoint cannot be read: {error}")
            return
        if trusted and not note.signed_by(trusted):
            out.find("V401", f"the checkpoint bears no true signature of {trusted.label}")
        if (note.origin, note.size) != (said["origin"], said["size"]):
            out.find("V101", "the manifest names another log or size than the checkpoint")
        if self.origin is not None and note.origin != self.origin:
            out.find("V404", "the checkpoint is of another log")
        if note.size > self.size:
            out.find("V402", f"the checkpoint covers {note.size} leaves, the log has {self.size}")
        elif not self.had(note.size, note.root):
            out.find("V403", "the checkpoint does not state what the leaves give")
        if len(out.findings) == before and trusted:
            self.sealed = f"checkpoint {note.size} at {self.records.get(note.size - 1, {}).get('ts', '')}"

    def had(self, size: int, root: bytes) -> bool:
        """Whether the first leaves have this root; true where they are not all there."""
        return size > len(self.hashes) or root_of(self.hashes[:size]) == root

    def of(self, run: str, kind: str) -> list[Record]:
        """The leaves of a type about a run."""
        return [each for each in self.records.values() if each.get("run") == run and each["type"] == kind]


def check_run(run: str, rows: list[tuple[bytes, str]], log: Log, out: Outcome) -> dict[int, Record]:
    """Section 7, rules 1 to 5: one run, event by event, and what the log says of it; its events by seq."""
    found: dict[int, Record] = {}
    before = len(out.findings)
    genesis = sha256(f"edgetape/genesis/v1\n{log.origin}\n{run}".encode()).hexdigest()
    tree, hashes, prev, clock, close = list[bytes](), [], {genesis}, 0, -1
    for seq, (raw, kept) in enumerate(rows):
        here = {kept, sha256(b"edgetape/event/v1\n" + raw).hexdigest()}
        newer = False
        try:
            said = typed(raw, EVENT)
            newer = said is None
            if said and (said["type"] == "run.open") != (seq == 0):
                raise Broken("V206", "a run begins with run.open, which comes nowhere else")
            if said and (said["run"], said["seq"]) != (run, seq):
                raise Broken(
                    "V202", f"an event is missing, double or elsewhere: it says that it is event {said['seq']}"
                )
            if said and said["prev"] not in prev and (seq or log.origin is not None):
                raise Broken("V203" if seq else "V212", "it does not follow what stands before it")
            if said and (
                said["mono_us"] < clock or said.get("origin", log.origin) != (log.origin or said.get("origin"))
            ):
                raise Broken("V205" if seq else "V212", "its clock runs backwards, or it is of another store")
            if said and said["type"] == "run.close":
                close = seq
                whole = len(out.findings) == before and not out.newer  # a fault is named once, where it is
                if said["n"] != seq or said["head"] not in prev or (whole and said["root"] != root_of(tree).hex()):
                    raise Broken("V215", "it closes another run than the events before it")
            if said:
                found[seq], clock = said, said["mono_us"]
        except Broken as error:
            out.find(error.code, str(error), run, seq)
        if newer:
            out.newer.append(f"run {run} seq {seq} is newer than this program")
        elif len(here) > 1:
            out.find("V203", "its bytes do not give the hash that is kept with it", run, seq)
        elif 0 <= close < seq:
            out.find("V216", "the run was closed before", run, seq)
        tree.append(leaf_hash(raw))
        hashes.append(here)
        prev = here
    opened, heads, closed = log.of(run, "run.open"), log.of(run, "run.head"), log.of(run, "run.close")
    if (not opened and not log.newer) or any(
        log.origin is not None and each["genesis"] != genesis for each in opened[:1]
    ):
        out.find("V212" if opened else "V211", "the log has no run.open for it, or of another beginning", run)
    for leaf in opened[:1] + heads + closed[:1]:
        last = leaf.get("n", 1) - 1
        if last not in range(len(hashes)) or leaf["head"] not in hashes[last]:
            out.find("V213", f"the log committed to another event {last}", run, last)
    if closed and (
        closed[0]["n"] != len(rows) or (close >= 0 and closed[0]["root"] != found.get(close, closed[0])["root"])
    ):
        out.find("V214", f"the log closed it with {closed[0]['n']} events", run)
    elif close >= 0 and not closed and not log.newer:
        out.find("V214", "the run is closed, the log does not know of it", run, close)
    point = found.get(0, {}).get("checkpoint")
    point = point if isinstance(point, dict) and has(point, "size count root hash") else {"size": 0, "root": EMPTY}
    if point["size"] > log.size or not log.had(point["size"], bytes.fromhex(point["root"])):
        out.find("V403", "the run began when the log was another one", run, 0)
    covered = max((leaf.get("n", 1) for leaf in opened + heads + closed), default=0) if log.sealed else 0
    out.counts["UNSEALED_TAIL"] += max(0, len(rows) - covered)
    out.counts["OPEN_RUN"] += close < 0
    out.counts["GAPS"] += sum(each["type"] == "gap" for each in found.values())
    return found


def commitments(value: object, pointer: str = "") -> Iterator[tuple[str, str]]:
    """The commitments of a record, each with the JSON Pointer of its place (section 5)."""
    if isinstance(value, dict) and set(value) == {"body"} and isinstance(value["body"], str):
        yield pointer, value["body"]
    elif isinstance(value, (dict, list)):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from commitments(each, f"{pointer}/{name}")


def check_bodies(
    named: dict[tuple[str, int, str], str], unread: set[tuple[Any, ...]], members: dict[str, bytes], out: Outcome
) -> None:
    """Section 7, rule 9: openings against commitments, bodies against openings."""
    before, blobs = ("", -1, ""), {name for name in members if name.startswith("blobs/")}
    for raw in lines(members, "openings.ndjson", out):
        try:
            line = record(raw)
            salt = base64.urlsafe_b64decode(f"{line.get('salt')}=")
            if (
                not has(line, OPENING)
                or len(line) != 6
                or base64.urlsafe_b64encode(salt).decode() != f"{line['salt']}="
            ):
                raise ValueError("not an opening")
        except (Broken, ValueError) as error:
            out.find("V602", f"a line of openings.ndjson: {error}")
            continue
        place, name = (line["run"], line["seq"], line["pointer"]), f"blobs/{line['sha256']}"
        opened = salt + bytes.fromhex(line["sha256"]) + line["length"].to_bytes(8, "big")
        commitment, blob = named.pop(place, None), members.get(name)
        blobs.discard(name)
        if place <= before:
            out.find("V602", "it stands twice, or not in the order of the events", *place[:2])
        elif commitment is None and place[:2] in unread:
            pass  # its event was found wanting already, or is newer
        elif commitment is None:
            out.find("V606", f"{place[2]} is kept, no event commits to it", *place[:2])
        elif sha256(b"edgetape/body/v1\n" + opened).hexdigest() != commitment:
            out.find("V602", f"{place[2]}: the opening does not give the commitment", *place[:2])
        elif blob is None or (len(blob), sha256(blob).hexdigest()) != (line["length"], line["sha256"]):
            out.find("V603" if blob is None else "V604", f"{place[2]}: the body is missing or another one", *place[:2])
        before = place
    for run, seq, pointer in named:
        out.find("V601", f"{pointer} has no opening", run, seq)
    for name in blobs:
        out.find("V606", f"{name} is kept, no opening names it")


def verify(path: Path, pin: Key | None, out: Outcome) -> str:
    """Checks everything, and gives what stands in the verdict's line behind the flags."""
    members = load(path)
    said = manifest(members, out)
    log = Log(said, members, pin, out)
    events = lines(members, "events.ndjson", out)
    kept = [line.decode("latin-1") for line in lines(members, "hashes.txt", out)]
    if len(kept) != len(events) or not all(is_a("hash", each) for each in kept):
        out.find("V104", "hashes.txt has not one hash an event, a line each")
        kept = [sha256(b"edgetape/event/v1\n" + raw).hexdigest() for raw in events]
    rows: dict[str, list[tuple[bytes, str]]] = {run: [] for run in said["runs"]}
    run = min(rows, default="")
    for raw, hashed in zip(events, kept):
        try:
            stated = json.loads(raw)["run"]
        except (ValueError, TypeError, KeyError, RecursionError):
            stated = None
        run = stated if is_a("run", stated) else run  # else it belongs to the run of the line before it
        if run not in rows:
            out.find("V101", f"the manifest does not name the run {run}")
        rows.setdefault(run, []).append((raw, hashed))
    for empty in [run for run in rows if not rows[run]]:
        out.find("V101", f"the manifest names the run {empty}, of which there is no event")
    found = {run: check_run(run, rows[run], log, out) for run in sorted(rows)}
    named = {
        (run, seq, pointer): body
        for run, each in found.items()
        for seq, event in each.items()
        for pointer, body in commitments(event)
    }
    bodies = len(named) if said["bodies"] == "included" else 0
    if said["bodies"] == "included":
        unread = {(run, seq) for run in rows for seq in range(len(rows[run])) if seq not in found[run]}
        check_bodies(named, unread, members, out)
    else:
        out.counts["PAYLOADS_WITHHELD"] = len(named)
    if not events:
        out.find("V001", "there is no event in it")
    subject = f"run {min(rows)}" if len(rows) == 1 else f"bundle of {log.origin or 'unknown'}: {len(rows)} runs"
    key = log.key.label if log.key else "unknown"
    return f"{subject}: {len(events)} events, {bodies} bodies; {log.sealed or 'no checkpoint'}; key {key}"


def main(arguments: list[str], out: Outcome) -> int:
    """Prints findings and the verdict; the exit status."""
    options = argparse.ArgumentParser(description="Verify an edgetape evidence bundle.")
    options.add_argument("bundle", nargs="?", default=".", help="a ZIP or a folder; this folder by default")
    options.add_argument("--pin", metavar="VKEY", help="the key that signatures must be of (the vkey, or a file)")
    given = options.parse_args(arguments)
    try:
        pin = given.pin and Key(Path(given.pin).read_text().strip() if Path(given.pin).is_file() else given.pin)
    except (OSError, ValueError) as error:
        print(f"verify.py: no vkey: {error}", file=sys.stderr)
        return 2
    try:
        told = verify(Path(given.bundle), pin, out)
    except Broken as error:
        out.find(error.code, str(error))
        told = "bundle: 0 events, 0 bodies; no checkpoint; key unknown"
    except OSError as error:
        print(f"verify.py: {given.bundle} cannot be read: {error}", file=sys.stderr)
        return 3
    for sentence in [each[2] for each in out.findings] + out.newer:
        print(sentence.encode("ascii", "backslashreplace").decode())
    names = ("OPEN_RUN", "UNSEALED_TAIL", "GAPS", "PARTIAL_LOG", "PAYLOADS_WITHHELD")
    flags = ([] if pin else ["UNATTRIBUTED"]) + ["UNWITNESSED", "UNTIMED"]
    flags += [f"{name} {out.counts[name]}" for name in names if out.counts[name]]
    codes = {each[0] for each in out.findings}
    status = 20 if codes - {"V001"} else 30 if codes or out.newer or out.counts["GAPS"] else 0
    print(f"{ {0: 'VERIFIED', 20: 'INVALID', 30: 'INCOMPLETE'}[status] } ({', '.join(flags)}) {told}")
    if out.counts["anchors"]:
        print("Not checked here: anchors/. README.txt, 4, checks time stamps with openssl;", file=sys.stderr)
        print("edgetape verify --policy checks them, and cosignatures, against whom you trust.", file=sys.stderr)
    print("Without anything kept outside the operator's reach, verification proves only that", file=sys.stderr)
    print("the store agrees with itself and with the holder of the key.", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Outcome()))
