#!/usr/bin/env python3
"""Verifies an edgetape evidence bundle with nothing but Python 3.9: `python3 verify.py [BUNDLE|DIR] [--pin VKEY]`.

Written from docs/format.md (its sections are named below), not from the program that writes bundles: a second opinion.
Exit status: 0 VERIFIED, 20 INVALID, 30 INCOMPLETE, 2 usage, 3 could not run.
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

LIMITS = (
    "Without anything kept outside the operator's reach, verification proves only that the store agrees with itself"
    " and with the holder of the key."
)
KINDS = {
    "count": r"[0-9]+",
    "str": r".*",
    "hash": r"[0-9a-f]{64}",
    "run": r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "time": r"[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}\.[0-9]{6}Z",
    "salt": r"[A-Za-z0-9_-]{43}",
}
# The members that this program builds on (sections 4, 6 and 9). What else a record says is covered by its hash.
EVENT = {"": "type str run run seq count prev hash ts time mono_us count", "run.open": "origin str"}
EVENT["run.close"] = "n count head hash root hash"
LEAF = {"": "type str ts time", "store.created": "origin str vkey str", "run.open": "run run genesis hash head hash"}
LEAF |= {"run.head": "run run n count head hash", "run.close": "run run n count head hash root hash"}
OPENING = "run run seq count pointer str salt salt sha256 hash length count"
ALWAYS = {"README.txt", "checkpoint", "vkey", "events.ndjson", "hashes.txt", "report.html", "report.json", "verify.py"}

Record = dict[str, Any]
Members = dict[str, bytes]


class Broken(Exception):
    """Bytes that are not what they ought to be, and the code for it."""

    def __init__(self, code: str, sentence: str = "") -> None:
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


class Outcome:
    """What was found: (code, run, seq, sentence), what is newer than this program, and counts."""

    def __init__(self) -> None:
        self.findings: list[tuple[str, str, int | None, str]] = []
        self.newer: list[str] = []
        self.counts: Counter[str] = Counter()

    def find(self, code: str, sentence: str = "", run: str = "", seq: int | None = None) -> None:
        """Adds a finding, each place and code once."""
        if not run or seq is None or all(each[:3] != (code, run, seq) for each in self.findings):
            self.findings.append((code, run, seq, sentence))


# Section 9: the container.


def safe(name: str) -> str:
    """The name of a member; anything that could lead elsewhere is refused."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9.]*(/[a-z0-9][a-z0-9.-]*)?", name) or ".." in name:
        raise Broken("V105", f"{name[:80]!r} is no name of a member")
    return name


def from_zip(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of a ZIP in the one form that section 9 describes; any other byte is refused."""
    directory, count, at = b"", 0, 0
    while raw[at : at + 4] == b"PK\x03\x04" and len(raw) >= at + 30:
        checksum, length, _, name_length = unpack("<3IH", raw[at + 14 : at + 28])
        name = safe(raw[at + 30 : at + 30 + name_length].decode("latin-1"))
        common = pack("<5H3I2H", 20, 0, 0, 0, 33, checksum, length, length, name_length, 0)
        start = at + 30 + name_length
        content = raw[start : start + length]
        if (
            raw[at:start] != b"PK\x03\x04" + common + name.encode()
            or len(content) != length
            or crc32(content) != checksum
        ):
            raise Broken("V105", f"the member {name} is not plainly stored")
        directory += (
            b"PK\x01\x02" + pack("<H", 0x314) + common + pack("<3H2I", 0, 0, 0, 0o100644 << 16, at) + name.encode()
        )
        count, at = count + 1, start + length
        yield name, content
    end = pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), at & 0xFFFFFFFF, 0)
    if raw[at:] != directory + end:
        raise Broken("V105", "its directory is not that of its members, or something stands behind it")


def from_folder(path: Path) -> Iterator[tuple[str, bytes]]:
    """The plain files of a folder; links are not followed."""
    for base, folders, files in os.walk(path):
        for place in (Path(base, name) for name in folders + files):
            mode = place.lstat().st_mode
            if not stat.S_ISDIR(mode):
                name = safe(place.relative_to(path).as_posix())
                if not stat.S_ISREG(mode):
                    raise Broken("V105", f"{name} is no plain file")
                yield name, place.read_bytes()


def load(path: Path) -> Members:
    """All members of a bundle."""
    if path.is_dir():
        listed = from_folder(path)
    else:
        raw = path.read_bytes()
        if len(raw) > (1 << 32) - 2:
            raise Broken("V106", "more than 4 GiB")
        listed = from_zip(raw)
    members: Members = {}
    for name, content in listed:
        if name in members:
            raise Broken("V105", f"{name} occurs twice")
        members[name] = content
        if len(members) > 65_534:
            raise Broken("V106", "more than 65,534 members")
    return members


def manifest(members: Members, out: Outcome) -> Record:
    """What the bundle says of itself, held against its members; V101 where that cannot be read."""
    if "manifest.json" not in members:
        raise Broken("V101", "there is no manifest.json")
    raw = members["manifest.json"]
    try:
        said: Record = json.loads(raw.decode("ascii"))
        names = {"format", "origin", "size", "runs", "log", "bodies", "members"}
        fits = set(said) == names and said["format"] == "edgetape/bundle/1" and has(said, "origin str size count")
        fits = fits and said["log"] in ("full", "proofs") and said["bodies"] in ("included", "withheld")
        fits = fits and all(is_a("run", run) for run in said["runs"]) and said["runs"] == sorted(set(said["runs"]))
        fits = fits and all(set(each) == {"bytes", "sha256"} for each in said["members"].values())
        fits = fits and all(has(each, "bytes count sha256 hash") for each in said["members"].values())
        if not fits or (json.dumps(said, indent=1, sort_keys=True) + "\n").encode() != raw:
            raise ValueError("not the one spelling of a manifest")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Broken("V101", str(error)) from None
    bodies, full, listed = said["bodies"] == "included", said["log"] == "full", said["members"]
    required = ALWAYS | ({"openings.ndjson"} if bodies else set()) | ({"log.ndjson"} if full else set())
    more = ("|blobs/[0-9a-f]{64}" if bodies else "") + ("" if full else r"|proofs/(0|[1-9][0-9]{0,14})\.tlog-proof")
    for name in members:
        if name not in listed and name != "manifest.json":
            out.find("V102", name)
    for name in listed:
        if name not in required and not re.fullmatch(f"-{more}", name):
            out.find("V102", f"no such bundle has a member {name}")
        if name in members:
            digest = sha256(members[name]).hexdigest()
            as_named = not name.startswith("blobs/") or name == f"blobs/{digest}"
            if listed[name] != {"bytes": len(members[name]), "sha256": digest} or not as_named:
                out.find("V104", name)
    for name in sorted((required | set(listed)) - set(members)) + sorted((required & set(members)) - set(listed)):
        out.find("V103", name)
    return said


def lines(members: Members, name: str, out: Outcome) -> list[bytes]:
    """The lines of a member."""
    *found, rest = members.get(name, b"").split(b"\n")
    if rest:
        out.find("V104", f"the last line of {name} does not end")
    return [*found, rest] if rest else found


# Section 2: canonical records. Section 4: their members.


def record(raw: bytes) -> Record:
    """The record that these canonical bytes are; V207 or V201."""
    if len(raw) > 65_535:
        raise Broken("V207", "longer than 65,535 bytes")
    try:
        value = json.loads(raw.decode(), object_pairs_hook=unique, parse_float=refuse, parse_constant=refuse)
        plain(value, 1)
        again = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        if not isinstance(value, dict) or again != raw:
            raise ValueError("another spelling")
    except (ValueError, RecursionError) as error:
        raise Broken("V201", str(error)) from None
    return value


def unique(pairs: list[tuple[str, Any]]) -> Record:
    """An object whose member names occur once each and are of a-z, 0-9 and _."""
    if len(dict(pairs)) != len(pairs) or not all(re.fullmatch("[a-z0-9_]+", name) for name, _ in pairs):
        raise ValueError("a member name is not one, or occurs twice")
    return dict(pairs)


def refuse(source: str) -> None:
    """No number but an integer."""
    raise ValueError(f"{source[:20]} is no integer")


def plain(value: object, depth: int) -> None:
    """At most 16 levels, integers within 2^53 - 1."""
    if depth > 16 or (type(value) is int and abs(value) >= 1 << 53):
        raise ValueError("too deep, or an integer beyond 2^53 - 1")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        plain(item, depth + 1)


def is_a(kind: str, value: object) -> bool:
    """Whether a value is of one of the KINDS."""
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
        or version != 1
        or not has(said, forms[""])
        or not has(said, forms.get(said["type"], ""))
    ):
        raise Broken("V206", "unknown type or member for its version")
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


# Sections 3 and 6: hashes, keys and checkpoints.


def leaf_hash(raw: bytes) -> bytes:
    """RFC 6962, section 2.1."""
    return sha256(b"\x00" + raw).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """RFC 6962, section 2.1."""
    return sha256(b"\x01" + left + right).digest()


def root_of(leaves: list[bytes]) -> bytes:
    """The Merkle tree hash over leaf hashes (RFC 6962, section 2.1)."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"").digest()
    middle = 1 << (len(leaves) - 1).bit_length() - 1
    return node_hash(root_of(leaves[:middle]), root_of(leaves[middle:]))


def proven_root(index: int, size: int, node: bytes, hashes: list[bytes]) -> bytes | None:
    """The root that an inclusion proof leads to (RFC 6962, section 2.1.1)."""
    if size <= 1 or not hashes:
        return node if size == 1 and index == 0 and not hashes else None
    middle, last = 1 << (size - 1).bit_length() - 1, hashes[-1]
    if index < middle:
        below = proven_root(index, middle, node, hashes[:-1])
        return below and node_hash(below, last)
    below = proven_root(index - middle, size - middle, node, hashes[:-1])
    return below and node_hash(last, below)


class Key:
    """A vkey of C2SP signed-note: its name, the label `name+id`, the Ed25519 key."""

    def __init__(self, vkey: str) -> None:
        self.name, _, rest = vkey.partition("+")
        raw = base64.b64decode(rest.partition("+")[2], validate=True)
        self.public, self.id = raw[1:], sha256(self.name.encode() + b"\n" + raw).digest()[:4]
        self.label = f"{self.name}+{self.id.hex()}"
        spelled = f"{self.label}+{base64.b64encode(raw).decode()}"
        if spelled != vkey or len(raw) != 33 or raw[0] != 1 or not self.name or re.search(r"\s", self.name):
            raise ValueError("not the vkey of an Ed25519 key")

    def signs(self, note: Note) -> bool:
        """Whether the note has lines of this key, and all of them are true."""
        own = [raw[4:] for name, raw in note.signatures if name == self.name and raw[:4] == self.id]
        return bool(own) and all(signed(self.public, note.text, each) for each in own)


class Note:
    """A checkpoint: origin, size and root, and its signature lines (C2SP tlog-checkpoint)."""

    def __init__(self, raw: bytes) -> None:
        head, _, tail = raw.decode().rpartition("\n\n")
        self.text, (self.origin, size, root) = f"{head}\n".encode(), head.split("\n")
        self.size, self.root = int(size), base64.b64decode(root, validate=True)
        self.signatures = []
        for line in tail.split("\n")[:-1]:
            dash, name, encoded = line.split(" ")
            self.signatures.append((name, base64.b64decode(encoded, validate=True)))
            if (
                dash != "\u2014"
                or base64.b64encode(self.signatures[-1][1]).decode() != encoded
                or "+" in name
                or not name
            ):
                raise ValueError("not a signature line")
        canonical = f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n".encode() == self.text
        good = canonical and self.origin and self.size >= 0 and len(self.root) == 32 and tail.endswith("\n")
        if not good or re.search(r"[\x00-\x09\x0b-\x1f]", raw.decode()):
            raise ValueError("not a checkpoint")


class Log:
    """Section 7, rules 6 to 8: what the log says once it is checked."""

    def __init__(self, said: Record, members: Members, pin: Key | None, out: Outcome) -> None:
        self.origin, self.newer, self.sealed = "", False, ""
        self.key: Key | None = None
        self.size, self.hashes, self.records = said["size"], list[bytes](), dict[int, Record]()
        times: dict[int, str] = {}
        shown = (
            self.proofs(said, members, out) if said["log"] == "proofs" else enumerate(lines(members, "log.ndjson", out))
        )
        for self.last, raw in shown:
            self.hashes.append(leaf_hash(raw))
            try:
                leaf = typed(raw, LEAF)
                if leaf and (leaf["type"] == "store.created") != (self.last == 0):
                    raise Broken("V206")
            except Broken as error:
                out.find("V301", f"leaf {self.last}: {error.sentence}")
                continue
            if leaf is None:
                out.newer.append(f"leaf {self.last} is newer than this program")
                self.newer = True
            else:
                self.records[self.last], times[self.last + 1] = leaf, leaf["ts"]
        if said["log"] == "proofs":
            out.counts["PARTIAL_LOG"] = self.size - len(self.hashes)
            self.hashes = []
        else:
            self.size = len(self.hashes)
        if 0 in self.records:
            self.origin = self.records[0]["origin"]
            try:
                self.key = Key(self.records[0]["vkey"])
            except ValueError:
                pass  # no checkpoint bears a true signature of it
        label = self.key.label if self.key else ""
        if pin and self.origin and (not self.key or (pin.label, pin.public) != (label, self.key.public)):
            out.find("V431", f"the log names {label or 'none'}, the pinned key is {pin.label}")
        if "vkey" in members and self.records.get(0) and members["vkey"] != f"{self.records[0]['vkey']}\n".encode():
            out.find("V431", "the vkey that lies in the bundle is not the one that its log names")
        if "checkpoint" in members:
            self.check_note(members["checkpoint"], said, pin, out, times)
        else:
            out.find("V001", "no checkpoint signs anything of it")

    def proofs(self, said: Record, members: Members, out: Outcome) -> Iterator[tuple[int, bytes]]:
        """The leaves that tlog-proofs carry (C2SP), each with its way to the checkpoint's root."""
        names = {int(name[7:-11]): name for name in members if name.startswith("proofs/") and name in said["members"]}
        if 0 not in names or self.size - 1 not in names:
            out.find("V403", "the first or the last leaf below the checkpoint is missing")
        for index, name in sorted(names.items()):
            head, _, note = members[name].partition(b"\n\n")
            try:
                magic, extra, _, *path = head.decode().split("\n")
                leaf, hashes = base64.b64decode(extra[6:]), [base64.b64decode(each) for each in path]
                again = [magic, f"extra {base64.b64encode(leaf).decode()}", f"index {index}"]
                again += [base64.b64encode(each).decode() for each in hashes]
                fair = magic == "c2sp.org/tlog-proof@v1" and "\n".join(again).encode() == head
                root = proven_root(index, self.size, leaf_hash(leaf), hashes)
                if not fair or note != members["checkpoint"] or root != Note(note).root:
                    raise ValueError("it does not lead to the root of the checkpoint")
            except (ValueError, KeyError) as error:
                out.find("V403", f"{name}: {error}")
            else:
                yield index, leaf

    def check_note(self, raw: bytes, said: Record, pin: Key | None, out: Outcome, times: dict[int, str]) -> None:
        """Rule 8."""
        before = len(out.findings)
        try:
            note = Note(raw)
        except ValueError as error:
            out.find("V401", f"the checkpoint cannot be read: {error}")
            return
        trusted = pin or self.key
        if not (trusted and trusted.signs(note)) and (pin or self.origin):
            out.find("V401", "the checkpoint bears no true signature")
        if (note.origin, note.size) != (said["origin"], said["size"]):
            out.find("V101", "the manifest names another log or size than the checkpoint")
        if self.origin and note.origin != self.origin:
            out.find("V404", f"the checkpoint is of the log {note.origin}")
        if note.size > self.size:
            out.find("V402", f"the checkpoint covers {note.size} leaves, the log has {self.size}")
        elif note.size != said["size"] or not self.had(note.size, note.root):
            out.find("V403", "the checkpoint does not state what its leaves give")
        if len(out.findings) == before and trusted:
            self.sealed = f"checkpoint {note.size} at {times.get(note.size, '')}"

    def had(self, size: int, root: bytes) -> bool:
        """Whether the first leaves have this root; true where they are not all there."""
        return size > len(self.hashes) or (size >= 0 and root_of(self.hashes[:size]) == root)

    def of(self, run: str, kind: str) -> list[Record]:
        """The leaves of a type about a run."""
        return [each for each in self.records.values() if each.get("run") == run and each["type"] == kind]


class Run:
    """Section 7, rules 1 to 5: the events of one run, and what the log says of it."""

    def __init__(self, run: str, rows: list[tuple[int, bytes, str]], log: Log, out: Outcome) -> None:
        self.run, self.log, self.out = run, log, out
        self.rows = {seq: raw for seq, raw, _ in reversed(rows)}
        # An event's hash is the one that is kept with it, or the one that its bytes give; they differ: V203.
        self.hashes = {seq: (kept, event_hash(raw)) for seq, raw, kept in reversed(rows)}
        self.said: dict[int, Record] = {}
        self.unread: set[int] = set()
        self.whole, self.last, self.close, self.count = True, -1, -1, len(rows)
        said = [each for kind in ("open", "head", "close") for each in log.of(run, f"run.{kind}")]
        self.promised = max((each.get("n", 1) for each in said), default=0)
        for seq, raw, _ in rows:
            self.read(seq, raw)
        if rows:
            self.check_log()
        elif said:
            out.find("V210", "the log knows the run, none of its events is there", run)

    def find(self, code: str, sentence: str = "", seq: int | None = None) -> None:
        """Adds a finding about this run."""
        self.whole = self.whole and code not in ("V201", "V202", "V203", "V204", "V206", "V207")
        self.out.find(code, sentence, self.run, seq)

    def is_gap(self, seq: int) -> bool:
        """Whether an event is missing between others."""
        return 0 <= seq < self.last and seq not in self.hashes

    def excuses(self, seq: int) -> bool:
        """Whether it was said already that the event with this seq cannot be read."""
        return seq in self.unread or self.is_gap(seq) or self.last < seq < self.promised

    def is_head(self, head: str, seq: int) -> bool:
        """Whether an event has this hash; true of one that is reported as missing already."""
        return self.is_gap(seq) or head in self.hashes.get(seq, ())

    def read(self, seq: int, raw: bytes) -> None:
        """Rules 1 to 4, of one event."""
        if seq in self.said or seq in self.unread:
            self.find("V204", "this seq occurs twice", seq)
            return
        if seq > self.last + 1:
            self.find("V202", "an event is missing", self.last + 1)
        before, self.last = self.said.get(seq - 1), seq
        try:
            said = typed(raw, EVENT)
            if said and (said["type"] == "run.open") != (seq == 0):
                raise Broken("V206", "a run begins with run.open, which comes nowhere else")
        except Broken as error:
            self.unread.add(seq)
            self.check_hash(seq)
            self.find(error.code, error.sentence, seq)
            return
        if said is None:
            self.unread.add(seq)
            self.whole = False
            self.out.newer.append(f"run {self.run} seq {seq} is newer than this program")
            return
        self.said[seq] = said
        self.check_hash(seq)
        if (said["run"], said["seq"]) != (self.run, seq):
            self.find("V202", "the record says that it stands elsewhere", seq)
        if seq == 0 and self.log.origin and (said["prev"], said["origin"]) != (self.genesis(), self.log.origin):
            self.find("V212", "it does not begin in this store", 0)
        if seq and seq - 1 in self.hashes and said["prev"] not in self.hashes[seq - 1]:
            self.find("V203", "the event before it has another hash", seq)
        elif before and said["mono_us"] < before["mono_us"]:
            self.find("V205", "its clock runs backwards", seq)
        if self.close < 0 and said["type"] == "run.close":
            self.close = seq
        self.out.counts["GAPS"] += said["type"] == "gap"

    def check_hash(self, seq: int) -> None:
        """Rule 3, of the event's own bytes."""
        if len(set(self.hashes[seq])) > 1:
            self.find("V203", "its bytes do not give the hash that is kept with it", seq)

    def genesis(self) -> str:
        """What stands before event 0 (section 3)."""
        return sha256(b"edgetape/genesis/v1\n" + f"{self.log.origin}\n{self.run}".encode()).hexdigest()

    def check_log(self) -> None:
        """Rule 5."""
        opened, heads, closed = (self.log.of(self.run, f"run.{kind}") for kind in ("open", "head", "close"))
        point = self.said.get(0, {}).get("checkpoint")
        if not (isinstance(point, dict) and has(point, "size count root hash")):
            point = None
        if point and point["size"] > self.log.size:
            self.find("V402", "the run began when the log was longer than it is", 0)
        elif point and not self.log.had(point["size"], bytes.fromhex(point["root"])):
            self.find("V403", "the run began when the log had another root", 0)
        if self.close < 0:
            self.out.counts["OPEN_RUN"] += 1
        else:
            self.check_close(bool(closed))
        if opened and (opened[0]["genesis"] != self.genesis() or not self.is_head(opened[0]["head"], 0)):
            self.find("V212", "the log committed to another beginning", 0)
        if not opened and not self.log.newer:
            self.find("V211", "the log has no run.open for it")
        for leaf in heads:
            if not self.is_head(leaf["head"], leaf["n"] - 1):
                self.find("V213", "the log committed to another event here", leaf["n"] - 1)
        if closed and closed[0]["n"] != self.last + 1:
            self.find("V214", f"the log closed it with {closed[0]['n']} events, there are {self.last + 1}")
        elif closed:
            if not self.is_head(closed[0]["head"], self.last):
                self.find("V213", "the log committed to another event here", self.last)
            if self.close >= 0 and self.whole and closed[0]["root"] != self.said[self.close]["root"]:
                self.find("V215", "the log states another root than the run itself")
        covered = max((leaf["n"] for leaf in heads + closed[:1]), default=len(opened[:1]))
        self.out.counts["UNSEALED_TAIL"] += max(0, self.count - covered) if self.log.sealed else self.count

    def check_close(self, known: bool) -> None:
        """Rule 5, the run's own end."""
        seq, said = self.close, self.said[self.close]
        if not known and not self.log.newer:
            self.find("V214", "the run is closed, the log does not know of it", seq)
        if said["n"] != seq:
            self.find("V214", f"it counts {said['n']} events before it, there are {seq}", seq)
        if not self.is_head(said["head"], seq - 1):
            self.find("V213", "it names another head than the event before it", seq)
        if (
            self.whole
            and said["root"] != root_of([leaf_hash(raw) for at, raw in sorted(self.rows.items()) if at < seq]).hex()
        ):
            self.find("V215", "it states another root than its events give", seq)
        for later in sorted(at for at in self.rows if at > seq):
            self.find("V216", "the run was closed before", later)


def event_hash(raw: bytes) -> str:
    """Section 3."""
    return sha256(b"edgetape/event/v1\n" + raw).hexdigest()


def commitments(value: object, pointer: str = "") -> Iterator[tuple[str, str]]:
    """The commitments of a record, each with the JSON Pointer of its place."""
    if isinstance(value, dict) and set(value) == {"body"} and isinstance(value["body"], str):
        yield pointer, value["body"]
    elif isinstance(value, (dict, list)):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from commitments(each, f"{pointer}/{name}")


def check_bodies(runs: dict[str, Run], members: Members, said: Record, out: Outcome) -> int:
    """Rule 9, for all runs; how many bodies their readable events commit to."""
    open_ones = {
        (run, seq, pointer): named
        for run, each in runs.items()
        for seq, event in each.said.items()
        for pointer, named in commitments(event)
    }
    count = len(open_ones)
    if said["bodies"] == "withheld":
        out.counts["PAYLOADS_WITHHELD"] = count
        return 0
    before: tuple[str, int, str] = ("", -1, "")
    named_blobs = set()
    for raw in lines(members, "openings.ndjson", out):
        try:
            line = record(raw)
            salt = base64.urlsafe_b64decode(line["salt"] + "=") if has(line, OPENING) and len(line) == 6 else b""
            if base64.urlsafe_b64encode(salt).decode() != f"{line.get('salt')}=":
                raise Broken("V602", "not an opening")
        except Broken as error:
            out.find("V602", error.sentence)
            continue
        place = (line["run"], line["seq"], line["pointer"])
        if place <= before:
            out.find("V602", "an opening stands twice, or not in the order of the events")
        before = place
        name = f"blobs/{line['sha256']}"
        named_blobs.add(name)
        run = runs.get(place[0])
        named = open_ones.pop(place, None)
        sealed = salt + bytes.fromhex(line["sha256"]) + line["length"].to_bytes(8, "big")
        blob = members.get(name) if name in said["members"] else None
        if named is None:
            if run is None or not run.excuses(place[1]):
                out.find("V606", f"{place[2]} is kept, no event commits to it", *place[:2])
        elif sha256(b"edgetape/body/v1\n" + sealed).hexdigest() != named:
            out.find("V602", place[2], *place[:2])
        elif blob is None:
            out.find("V603", place[2], *place[:2])
        elif len(blob) != line["length"] or sha256(blob).hexdigest() != line["sha256"]:
            out.find("V604", place[2], *place[:2])
    for run_id, seq, pointer in open_ones:
        out.find("V601", f"{pointer} has no opening", run_id, seq)
    for name in sorted(name for name in said["members"] if name.startswith("blobs/") and name not in named_blobs):
        out.find("V606", f"{name} is kept, no opening names it")
    return count


def placed(found: list[bytes], runs: list[str]) -> Iterator[tuple[str, int, bytes]]:
    """Each event where it says that it stands, or else behind the line before it."""
    run, seq = runs[0] if runs else "", -1
    for raw in found:
        seq += 1
        try:
            said = json.loads(raw)
            if (
                said["run"].isascii()
                and len(said["run"]) == 36
                and is_a("count", said["seq"])
                and said["seq"] < 1 << 53
            ):
                run, seq = said["run"], said["seq"]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            pass  # it stands behind the line before it
        yield run, seq, raw


def verify(path: Path, pin: Key | None, out: Outcome) -> str:
    """Checks everything, and gives what stands in the verdict's line between flags and end."""
    members = load(path)
    said = manifest(members, out)
    listed = {name: content for name, content in members.items() if name in said["members"]}
    log = Log(said, listed, pin, out)
    rows: dict[str, list[tuple[int, bytes, str]]] = {run: [] for run in said["runs"]}
    events = lines(listed, "events.ndjson", out)
    kept = [line.decode("latin-1") for line in lines(listed, "hashes.txt", out)]
    if len(kept) != len(events) or not all(is_a("hash", each) for each in kept):
        out.find("V104", "hashes.txt has not one hash an event, a line each")
        kept = [event_hash(raw) for raw in events]
    for (run, seq, raw), hashed in zip(placed(events, said["runs"]), kept):
        if run not in rows:
            out.find("V101", f"the manifest does not name the run {run}")
        rows.setdefault(run, []).append((seq, raw, hashed))
    runs = {run: Run(run, rows[run], log, out) for run in sorted(rows)}
    bodies = check_bodies(runs, listed, said, out)
    if not events:
        out.find("V001", "there is no event in it")
    subject = f"run {min(runs)}" if len(runs) == 1 else f"bundle of {log.origin}: {len(runs)} runs"
    key = log.key.label if log.key else "unknown"
    return f"{subject}: {len(events)} events, {bodies} bodies; {log.sealed or 'no checkpoint'}; key {key}"


def main(arguments: list[str], out: Outcome) -> int:
    """Prints findings and the verdict; the exit status."""
    options = argparse.ArgumentParser(description="Verify an edgetape evidence bundle.")
    options.add_argument("bundle", nargs="?", default=".", help="a ZIP or a folder; this folder by default")
    options.add_argument("--pin", metavar="VKEY", help="the key that signatures must be of (the vkey, or a file)")
    given = options.parse_args(arguments)
    pin = None
    try:
        if given.pin:
            pin = Key(Path(given.pin).read_text().strip() if Path(given.pin).is_file() else given.pin)
    except (OSError, ValueError) as error:
        print(f"verify.py: no vkey: {error}", file=sys.stderr)
        return 2
    try:
        told = verify(Path(given.bundle), pin, out)
    except Broken as error:
        out.find(error.code, error.sentence)
        told = "bundle: 0 events, 0 bodies; no checkpoint; key unknown"
    except OSError as error:
        print(f"verify.py: {given.bundle} cannot be read: {error}", file=sys.stderr)
        return 3
    for code, run, seq, sentence in out.findings:
        where = (f" run {run}" if run else "") + (f" seq {seq}" if seq is not None else "")
        print(f"{code}{where}: {sentence}".encode("ascii", "backslashreplace").decode())
    print(*out.newer, sep="\n", end="\n" if out.newer else "")
    names = ("OPEN_RUN", "UNSEALED_TAIL", "GAPS", "PARTIAL_LOG", "PAYLOADS_WITHHELD")
    flags = ([] if pin else ["UNATTRIBUTED"]) + ["UNWITNESSED", "UNTIMED"]
    flags += [f"{name} {out.counts[name]}" for name in names if out.counts[name]]
    codes = {each[0] for each in out.findings}
    status = 20 if codes - {"V001"} else 30 if codes or out.newer else 0
    word = {0: "VERIFIED", 20: "INVALID", 30: "INCOMPLETE"}[status]
    print(f"{word} ({', '.join(flags)}) {told}")
    print(LIMITS, file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Outcome()))
