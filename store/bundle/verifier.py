#!/usr/bin/env python3
"""Verifies an edgetape evidence bundle with Python 3.9 and nothing else: `python3 verify.py [BUNDLE] [--pin VKEY]`.

Without anything kept outside the operator's reach, verification proves only that the store agrees with itself and with
the holder of the key.
"""

# Written from docs/format.md, whose sections it names, and not from the program that writes bundles: a second opinion,
# to be read from top to bottom. A bundle is a ZIP, or the folder that it was unpacked to. Nothing is ever written.
# Exit status: 0 VERIFIED, 10 the same, but annotations are not as they ought to be, 20 INVALID, 30 INCOMPLETE, 2 usage,
# 3 could not run.

from __future__ import annotations

import argparse
import base64
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256, sha512
from pathlib import Path
from struct import pack, unpack
from typing import Any
from zlib import crc32

Record = dict[str, Any]

# What this program builds on (sections 4, 6 and 9), as "kind name kind name ...". Hashes cover whatever else is said.
EVENT = {"": "count v str type run run count seq hash prev time ts count mono_us", "run.open": "str origin"}
EVENT["run.close"] = "count n hash head hash root"
LEAF = {"": "count v str type time ts", "run.open": "run run hash genesis hash head", "payload.erased": "run run"}
LEAF["run.head"] = LEAF["run.import"] = LEAF["annotation.head"] = "run run count n hash head"
LEAF["run.close"] = "run run count n hash head hash root"
LEAF["key.rotate"] = "str old str new str old_signature str new_signature"
LEAF["key.revoke"] = "str key str by str signature"
LEAF["store.created"], LEAF["anchor"] = "str origin str vkey", "rfc3161|cosignature kind hash sha256"
ANNOTATION = {"": "count v annotation type run run count number hash prev time ts count seq hash event_hash str by"}
OPENING = "run run count seq str pointer salt salt hash sha256 count length"
SEAL = "count bytes hash sha256"
MANIFEST = "edgetape/bundle/1 format str origin count size full|proofs log included|withheld bodies"
MEMBERS = r"README\.txt|checkpoint|vkey|events\.ndjson|hashes\.txt|report\.html|report\.json|verify\.py"
LOG = {"full": (r"log\.ndjson", "-"), "proofs": ("vkey", r"proofs/(0|[1-9][0-9]{0,14})\.tlog-proof")}
ANCHORS = r"annotations\.ndjson|anchors/(0|[1-9][0-9]{0,14})\.(tsr|cosignature|checkpoint|consistency)"
BODIES = {"included": (r"openings\.ndjson", "blobs/[0-9a-f]{64}"), "withheld": ("vkey", "-")}
NAME = "[A-Za-z][A-Za-z0-9.]*(/[a-z0-9][a-z0-9.-]*)?"
HASH = "[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="
NOTE = f"(([^\0-\x1f]+)\n(0|[1-9][0-9]{{0,18}})\n({HASH})\n)\n((?:\u2014 [^\\s+]+ [A-Za-z0-9+/]{{7,}}=*\n)+)"
NEWER = {"type": "", "ts": "", "mono_us": 0}
KINDS = {"str": ".*", "hash": "[0-9a-f]{64}", "salt": "[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"}
KINDS["run"] = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
KINDS["time"] = r"[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}\.[0-9]{6}Z"


class Broken(ValueError):
    """What is not as it has to be: a code of section 7 (empty where whoever asked knows it), and a sentence."""


def demand(fair: object, sentence: str, code: str = "") -> None:
    """Goes no further with something that is not as it has to be."""
    if not fair:
        raise Broken(code, sentence)


class Outcome:
    """What is wrong or newer than this program (code, run, seq, sentence), and the counts behind the flags."""

    def __init__(self) -> None:
        self.findings: list[tuple[str, str, int | None, str]] = []
        self.counts: Counter[str] = Counter()

    def need(self, fair: object, code: str, sentence: object, run: str = "", seq: int | None = None) -> None:
        """A finding, unless something is as it has to be."""
        if not fair:
            self.findings.append((code, run, seq, str(sentence)))

    @contextmanager
    def noting(self, code: str, what: str, run: str = "", seq: int | None = None) -> Iterator[None]:
        """Whatever goes wrong in it is a finding."""
        try:
            yield
        except (ValueError, TypeError, RecursionError) as error:
            own = error.args if isinstance(error, Broken) else ("", error)
            # an annotation that is none has one code, whatever is wrong with it
            self.need(False, code if code == "V701" else own[0] or code, f"{what}: {own[1]}", run, seq)


# Section 9: the container and its manifest.


def unzipped(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of a ZIP in the one form that there is: packing them again would give these very bytes."""
    directory, count, at = bytearray(), 0, 0
    while raw[at : at + 4] == b"PK\x03\x04" and len(raw) >= at + 30 and count < 65_534:
        length, _, name_length = unpack("<2IH", raw[at + 18 : at + 28])
        start = at + 30 + name_length
        name, content = raw[at + 30 : start], raw[start : start + length]
        header = pack("<5H3I2H", 20, 0, 0, 0, 33, crc32(content), len(content), len(content), len(name), 0)
        demand(raw[at:start] == b"PK\x03\x04" + header + name, f"the member at byte {at} is not plainly stored", "V105")
        directory += b"PK\x01\x02\x14\x03" + header + pack("<3H2I", 0, 0, 0, 0o100644 << 16, at) + name
        count, at = count + 1, start + length
        yield name.decode("latin-1"), content
    directory += pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory), at, 0)
    demand(raw[at:] == directory, "its directory is not that of its members, or more stands behind it", "V105")


def load(path: Path) -> dict[str, bytes]:
    """All members of a bundle; in a folder no link is followed."""
    folder, members = path.is_dir(), dict[str, bytes]()
    files = [each for each in path.rglob("*") if each.is_symlink() or not each.is_dir()] if folder else [path]
    demand(not folder or all(each.is_file() and not each.is_symlink() for each in files), "no plain file", "V105")
    demand(sum(each.stat().st_size for each in files) < (1 << 32) - 1, "more than 4 GiB", "V106")
    inside = ((each.relative_to(path).as_posix(), each.read_bytes()) for each in files)
    for name, content in inside if folder else unzipped(path.read_bytes()):
        fair = name not in members and ".." not in name and re.fullmatch(NAME, name)
        demand(fair, f"{name[:80]!r} occurs twice, or is no name of a member", "V105")
        members[name] = content
    return members


def manifest(members: dict[str, bytes], out: Outcome) -> Record:
    """What the bundle says of itself; its members are held against that, and those that it does not know taken out."""
    raw = members.pop("manifest.json", b"")
    said: Record = json.loads(raw.decode("ascii"))
    fair = (json.dumps(said, indent=1, sort_keys=True) + "\n").encode() == raw and len(raw) <= 1 << 25
    fair = fair and has(said, MANIFEST) and len(said) == 7 and {"runs", "members"} < set(said)
    fair = fair and all(is_a("run", run) for run in said["runs"]) and said["runs"] == sorted(set(said["runs"]))
    fair = fair and has(said["members"], "") and all(has(each, SEAL) for each in said["members"].values())
    demand(fair, "there is no manifest.json in its one spelling", "V101")
    (once, many), (more, others) = LOG[said["log"]], BODIES[said["bodies"]]
    for name in sorted({*f"{MEMBERS}|{once}|{more}".replace("\\", "").split("|"), *said["members"], *members}):
        allowed, content = re.fullmatch(f"{MEMBERS}|{once}|{more}|{many}|{others}|{ANCHORS}", name), members.get(name)
        seal = None if content is None else {"bytes": len(content), "sha256": sha256(content).hexdigest()}
        code = "V102" if not allowed or name not in said["members"] else "V104" if content is not None else "V103"
        out.need(allowed and seal and said["members"].get(name) == seal, code, f"{name} is not what the manifest lists")
        if code == "V102":
            members.pop(name, None)
    return said


def lines(members: dict[str, bytes], name: str, out: Outcome) -> list[bytes]:
    """The lines of a member."""
    *found, rest = members.get(name, b"").split(b"\n")
    out.need(not rest, "V104", f"the last line of {name} does not end")
    return [*found, rest] if rest else found


# Sections 2 to 4: canonical records, hashes.


def is_a(kind: str, value: object) -> bool:
    """Whether a value is of this kind."""
    if kind == "count":
        return type(value) is int and value >= 0
    return isinstance(value, str) and re.fullmatch(KINDS.get(kind, kind), value, re.DOTALL) is not None


def has(said: object, form: str) -> bool:
    """Whether a record has these members."""
    return isinstance(said, dict) and all(is_a(kind, said.get(name)) for kind, name in re.findall(r"(\S+) (\S+)", form))


def record(raw: bytes) -> Record:
    """The record that these canonical bytes are; whatever else JSON allows would be spelled in another way again."""
    demand(len(raw) <= 65_535, "longer than 65,535 bytes", "V207")
    value = json.loads(raw.decode(), parse_float=str, parse_constant=str)
    again = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    demand(isinstance(value, dict) and again == raw and bounded(value, 1), "it is not canonical")
    return dict(value)


def bounded(value: object, level: int) -> bool:
    """At most 16 levels, integers within 2^53 - 1, member names of a-z, 0-9 and _."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    names = all(re.fullmatch("[a-z0-9_]+", name) for name in value) if isinstance(value, dict) else True
    small = type(value) is not int or abs(value) < 1 << 53
    return names and small and level <= 16 and all(bounded(each, level + 1) for each in inner)


def typed(raw: bytes, forms: dict[str, str]) -> Record:
    """The record of version 1 that these bytes are; NEWER for one of a later version, which is not judged."""
    said = record(raw)
    form = f"{forms['']} {forms.get(str(said.get('type')), '')}"
    newer = is_a("count", said.get("v")) and said["v"] > 1
    demand(newer or (said.get("v") == 1 and has(said, form)), "a member is missing, or of another kind", "V206")
    return NEWER if newer else said


def leaf_hash(raw: bytes) -> bytes:
    """RFC 6962, section 2.1."""
    return sha256(b"\x00" + raw).digest()


def event_hash(raw: bytes) -> str:
    """Section 3."""
    return sha256(b"edgetape/event/v1\n" + raw).hexdigest()


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
    left = index < middle
    below = proven_root(index if left else index - middle, middle if left else size - middle, node, path[:-1])
    return below and sha256(b"\x01" + (below + path[-1] if left else path[-1] + below)).digest()


# RFC 8032: Ed25519 in plain integers.

P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int]


def point(raw: bytes) -> Point:
    """The point that 32 bytes encode (section 5.1.3)."""
    y, sign = int.from_bytes(raw, "little") & (1 << 255) - 1, raw[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    demand(y < P and (x * x - square) % P == 0 and (x or not sign), "no point of the curve")
    return (x if x & 1 == sign else P - x), y


def add(p: Point, q: Point) -> Point:
    """The sum of two points (section 5.1)."""
    (a, b), (c, d) = p, q
    e = D * a * b * c * d
    return (a * d + b * c) * pow(1 + e, -1, P) % P, (b * d + a * c) * pow(1 - e, -1, P) % P


def times(factor: int, base: Point) -> Point:
    """A point added to itself `factor` times."""
    half = times(factor >> 1, add(base, base)) if factor else (0, 1)
    return add(half, base) if factor & 1 else half


def signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is the key's over the message (section 5.1.7)."""
    demand(len(signature) == 64, "a signature has 64 bytes")
    challenge = int.from_bytes(sha512(signature[:32] + key + message).digest(), "little") % ORDER
    response, base = int.from_bytes(signature[32:], "little"), point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    return response < ORDER and times(response, base) == add(point(signature[:32]), times(challenge, point(key)))


# Section 6: keys, checkpoints (C2SP signed-note, tlog-checkpoint, tlog-proof), the log.


def octets(text: str) -> bytes:
    """The bytes that base64 spells in its one way."""
    raw = base64.b64decode(text, validate=True)
    demand(base64.b64encode(raw).decode() == text, "base64 in another spelling")
    return raw


class Key:
    """A vkey `name+id+key`, and the sizes of the log between which the key is in force."""

    def __init__(self, vkey: str) -> None:
        self.vkey, (self.name, identity, key) = vkey, vkey.split("+", 2)
        raw = octets(key)
        self.id, self.public = sha256(f"{self.name}\n".encode() + raw).digest()[:4], raw[1:]
        self.label, self.first, self.last, self.revoked = f"{self.name}+{identity}", 0, 1 << 63, 1 << 63
        fair = re.fullmatch(r"\S+", self.name) and self.id.hex() == identity and len(raw) == 33 and raw[0] == 1
        demand(fair and times(8, point(self.public))[0], "no Ed25519 key, or one under which anybody can sign")

    def proves(self, what: str, old: Key, new: Key, signature: str) -> bool:
        """Whether it has signed that a key is rotated to, or revoked by, another (base64url without padding)."""
        text = f"edgetape/key-{what}/v1\n{self.name}\n{old.vkey}\n{new.vkey}\n"
        return signed(self.public, text.encode(), octets(signature.replace("-", "+").replace("_", "/") + "=="))


class Note:
    """A checkpoint: origin, size and root, and who signed it."""

    def __init__(self, raw: bytes) -> None:
        found = re.fullmatch(NOTE, raw.decode()) or [""] * 6
        demand(found[0], "not a checkpoint of three lines, with signatures")
        self.text, self.origin, self.size, self.root = found[1].encode(), found[2], int(found[3]), octets(found[4])
        self.signatures = [(line.split()[1], octets(line.split()[2])) for line in found[5].split("\n")[:-1]]

    def judge(self, keys: list[Key]) -> str:
        """The code of what is wrong with its signatures (section 7, rule 8); nothing if they are right."""
        own = [(key, raw[4:]) for key in keys for name, raw in self.signatures if (name, raw[:4]) == (key.name, key.id)]
        if not own or not all(signed(key.public, self.text, signature) for key, signature in own):
            return "V401"
        fair, last = any(key.first <= self.size <= min(key.last, key.revoked) for key, _ in own), own[-1][0]
        return "" if fair else "V433" if self.size < last.first else "V434" if self.size > last.revoked else "V432"


class Log:
    """Section 7, rules 6 to 8: what the log says, once it is checked."""

    def __init__(self, said: Record, members: dict[str, bytes], pin: Key | None, out: Outcome) -> None:
        self.size, self.sealed, self.origin = said["size"], "", ""
        self.keys, self.leaves, self.hashes = list[Key](), dict[int, Record](), list[bytes]()
        whole = said["log"] == "full"
        for at, raw in enumerate(lines(members, "log.ndjson", out)) if whole else self.proofs(members, out):
            self.hashes.append(leaf_hash(raw))
            with out.noting("V301", f"leaf {at}"):
                leaf = typed(raw, LEAF)
                demand((leaf["type"] == "store.created") == (at == 0) or leaf is NEWER, "store.created is leaf 0")
                self.leaves[at] = leaf
            with out.noting("V401", f"leaf {at}"):
                self.take_key(at, self.leaves.get(at, NEWER))
        self.newer = NEWER in self.leaves.values()
        out.need(not self.newer, "newer", "the log has leaves that this program does not know")
        out.counts["PARTIAL_LOG"] = 0 if whole else self.size - len(self.hashes)
        out.need(len(self.hashes) == self.size or not whole, "V104", f"log.ndjson has {len(self.hashes)} leaves")
        self.hashes = self.hashes if whole else []
        fair = not self.keys or members.get("vkey") in (None, f"{self.keys[-1].vkey}\n".encode())
        out.need(fair, "V431", "the vkey that lies in the bundle is not the one that its log names")
        for name in (name for name in members if name.endswith((".tsr", ".cosignature"))):
            named = self.leaves.get(int(re.split("[/.]", name)[1]), NEWER).get("sha256")
            out.need(named == sha256(members[name]).hexdigest(), "V520", f"{name} is not what the log names")
            out.counts["anchors"] += 1
        if pin and pin.vkey not in [key.vkey for key in self.keys]:
            out.need(not self.origin, "V431", f"the log has other keys than the pinned one, {pin.vkey}")
            self.keys = [pin]
        self.check(said, members, out)

    def proofs(self, members: dict[str, bytes], out: Outcome) -> Iterator[tuple[int, bytes]]:
        """The leaves that tlog-proofs carry, each with its way to the checkpoint's root."""
        names = {int(name[7:-11]): name for name in members if name.startswith("proofs/")}
        out.need({0, self.size - 1} <= set(names), "V403", "the first or last leaf below the checkpoint is missing")
        for at, name in sorted(names.items()):
            head, _, note = members[name].partition(b"\n\n")
            form = f"c2sp[.]org/tlog-proof@v1\nextra ([^\n]*)\nindex {at}((?:\n{HASH})*)"
            found = re.fullmatch(form, head.decode("latin-1"))
            with out.noting("V403", name):
                leaf, path = octets(found[1] if found else "-"), found[2].split() if found else []
                root = proven_root(at, self.size, leaf_hash(leaf), [octets(each) for each in path])
                out.need((note, root) == (members.get("checkpoint"), Note(note).root), "V403", f"{name}: another root")
                yield at, leaf

    def take_key(self, at: int, leaf: Record) -> None:
        """The keys that a leaf brings into force or revokes; ValueError unless it is rightly signed."""
        if leaf["type"] == "store.created":
            self.origin, self.keys = leaf["origin"], [Key(leaf["vkey"])]
        elif leaf["type"] == "key.rotate" and self.keys:
            old, new = self.keys[-1], Key(leaf["new"])
            fair = leaf["old"] == old.vkey and new.name == old.name and new.vkey not in [key.vkey for key in self.keys]
            fair = fair and old.proves("rotate", old, new, leaf["old_signature"])
            fair = fair and new.proves("rotate", old, new, leaf["new_signature"])
            demand(fair, "it does not go from the key in force to a new one, signed by both")
            old.last, new.first, self.keys = at, at + 1, [*self.keys, new]
        elif leaf["type"] == "key.revoke" and self.keys:
            by, past = self.keys[-1], [key for key in self.keys[:-1] if key.vkey == leaf["key"] and key.revoked > at]
            fair = past and leaf["by"] == by.vkey and by.proves("revoke", past[0], by, leaf["signature"])
            demand(fair, "a retired key is revoked by the one in force")
            past[0].revoked = at

    def check(self, said: Record, members: dict[str, bytes], out: Outcome) -> None:
        """The checkpoint: its signatures, and what it states."""
        before = len(out.findings)
        with out.noting("V401", "the checkpoint"):
            note = Note(members.get("checkpoint", b""))
            out.need((note.origin, note.size) == (said["origin"], said["size"]), "V101", "the manifest names another")
            out.need(note.origin == self.origin or not self.origin, "V404", "the checkpoint is of another log")
            out.need(note.size <= self.size, "V402", f"it covers {note.size} leaves, the log has {self.size}")
            out.need(self.had(note.size, note.root), "V403", "the checkpoint does not state what the leaves give")
            wrong = note.judge(self.keys) if self.keys or self.origin else ""
            demand(not wrong, "it bears no true signature of a key that may sign it", wrong)
        if len(out.findings) == before and self.keys:
            self.sealed = f"checkpoint {said['size']} at {self.leaves.get(said['size'] - 1, {}).get('ts', '')}"

    def had(self, size: int, root: bytes) -> bool:
        """Whether the first leaves have this root; true where they are not all there."""
        return size > len(self.hashes) or root_of(self.hashes[:size]) == root

    def of(self, run: str, *kinds: str) -> list[Record]:
        """The leaves of these types about a run; what stands before a retention.pruned of it is history."""
        own = [leaf for leaf in self.leaves.values() if leaf.get("run") == run]
        start = max((at for at, leaf in enumerate(own) if leaf["type"] == "retention.pruned"), default=0)
        return [leaf for leaf in own[start:] if leaf["type"] in kinds]

    def begun(self, run: str) -> tuple[str, str]:
        """The store in which a run began, and what its first event follows."""
        imported = self.of(run, "run.import")
        origin = imported[0]["origin"] if imported else self.origin
        return origin, sha256(f"edgetape/genesis/v1\n{origin}\n{run}".encode()).hexdigest()


def check_run(run: str, rows: list[tuple[int, bytes, str]], log: Log, out: Outcome) -> dict[int, Record]:
    """Section 7, rules 1 to 5: one run, event by event, and what the log says of it; its events by seq."""

    def need(fair: object, code: str, sentence: str, seq: int | None = None) -> None:
        out.need(fair, code, sentence, run, seq)

    opened, heads, closed, imported = (log.of(run, f"run.{kind}") for kind in ("open", "head", "close", "import"))
    origin, genesis = log.begun(run)
    found, tree, last, close, sound = dict[int, Record](), list[bytes](), -1, -1, len(out.findings)
    hashes: dict[int, set[str]] = {}  # by seq: the hash that is kept with an event, and that of its bytes
    for seq, raw, kept in rows:
        need(seq <= last + 1, "V202", "an event is missing, or stands elsewhere", last + 1)
        need(seq not in hashes, "V204", "it is there twice", seq)
        hashes[seq], last = {kept, event_hash(raw)}, seq
        event: Record = {}
        with out.noting("V201", "the event", run, seq):
            event = typed(raw, EVENT)
        need(event is not NEWER, "newer", "the event", seq)
        need(event is NEWER or len(hashes[seq]) == 1, "V203", "its bytes do not give the hash kept with it", seq)
        need(event is NEWER or close < 0, "V216", "the run was closed before", seq)
        found.update({seq: event} if event else {})
        if event and event is not NEWER:
            need((event["type"] == "run.open") == (seq == 0), "V206", "run.open stands first and nowhere else", seq)
            begun = (event["prev"], event.get("origin"))
            need(seq or begun == (genesis, origin) or not origin, "V212", "it does not begin in this store", seq)
            need(event["prev"] in hashes.get(seq - 1, [event["prev"]]), "V203", "it does not follow", seq)
            need(event["mono_us"] >= found.get(seq - 1, event)["mono_us"], "V205", "its clock runs backwards", seq)
            if event["type"] == "run.close" and close < 0:
                close, whole = seq, sound == len(out.findings)  # a fault is named where it is
                fair = event["n"] == seq and event["head"] == event["prev"]
                need(fair and (not whole or event["root"] == root_of(tree).hex()), "V215", "it closes another run", seq)
        tree.append(leaf_hash(raw))
    ends = opened[:1] + heads + closed[:1] + imported[:1]
    for leaf in ends:
        seq = leaf.get("n", 1) - 1
        need(leaf["head"] in hashes.get(seq, ()), "V213", f"the log committed to another event {seq}", seq)
        fair = leaf.get("genesis", genesis) == genesis or not log.origin
        need(fair and not (opened and imported), "V212", "the log committed to another beginning", 0)
    for leaf in closed[:1] + imported[:1]:
        need(leaf["n"] == last + 1, "V214", f"the log closed it with {leaf['n']} events")
        stated = found.get(close, leaf).get("root")
        need(leaf.get("root", stated) == stated, "V215", "the log states another root than the run itself")
    need(opened or imported or log.newer, "V211", "the log has no run.open for it")
    need(close < 0 or closed or imported or log.newer, "V214", "the run is closed, the log does not know of it", close)
    start = found.get(0, {}).get("checkpoint", {"size": 0, "root": sha256(b"").hexdigest()})
    fair = has(start, "count size hash root") and log.had(start["size"], bytes.fromhex(start["root"]))
    need(imported or (fair and start["size"] <= log.size), "V403", "it began when the log was another one", 0)
    covered = max((leaf.get("n", 1) for leaf in ends), default=0)
    need(len(rows) <= covered or not log.sealed or log.newer, "V104", "no checkpoint covers it", covered)
    out.counts["UNSEALED_TAIL"] += max(0, len(rows) - (covered if log.sealed else 0))
    out.counts["GAPS"] += sum(event["type"] == "gap" for event in found.values())
    out.counts.update(OPEN_RUN=close < 0 and bool(rows), IMPORTED=found.get(0, {}).get("mode") == "import")
    return found


# Section 5: bodies; then the verdict.


def commitments(value: object, pointer: str = "") -> Iterator[tuple[str, str]]:
    """The commitments of a record, each with the JSON Pointer of its place."""
    if isinstance(value, dict) and set(value) == {"body"} and isinstance(value["body"], str):
        yield pointer, value["body"]
    elif isinstance(value, (dict, list)):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from commitments(each, f"{pointer}/{name}")


def check_bodies(found: dict[str, dict[int, Record]], members: dict[str, bytes], log: Log, out: Outcome) -> None:
    """Section 7, rule 9: openings against commitments, bodies against openings."""
    opened, before = dict[tuple[str, int, str], Record](), ("", -1, "")
    for raw in lines(members, "openings.ndjson", out):
        with out.noting("V602", "a line of openings.ndjson"):
            line = record(raw)
            place = (line["run"], line["seq"], line["pointer"]) if has(line, OPENING) and len(line) == 6 else before
            demand(place > before, "it is none, or does not stand where it ought to")
            opened[place], before = line, place
    blobs = {name for name in members if name.startswith("blobs/")}
    out.need(blobs <= {f"blobs/{line['sha256']}" for line in opened.values()}, "V606", "no opening names a body")
    for run, events in found.items():
        erased = {leaf.get("seq") for leaf in log.of(run, "payload.erased")}
        for seq, pointer, commitment in ((seq, *each) for seq, event in events.items() for each in commitments(event)):
            opening, gone = opened.pop((run, seq, pointer), None), bool(erased & {seq, None})
            code = check_opening(opening, commitment, members) if not gone else "V606" if opening else ""
            out.need(not code, code, f"{pointer}: commitment, opening and body do not fit one another", run, seq)
            out.counts["PAYLOADS_ERASED"] += gone and not opening
    for run, seq, pointer in opened:  # those of a newer event are not judged either
        out.need(found.get(run, {}).get(seq) is NEWER, "V606", f"{pointer} is kept, no event commits to it", run, seq)


def check_opening(opening: Record | None, commitment: str, members: dict[str, bytes]) -> str:
    """The code of what is wrong with an opening or its body; nothing if they are right."""
    if opening is None:
        return "V601"
    made = committed(opening["salt"], bytes.fromhex(opening["sha256"]), opening["length"])
    body = members.get(f"blobs/{opening['sha256']}")
    same = body is not None and (len(body), sha256(body).hexdigest()) == (opening["length"], opening["sha256"])
    return "V602" if made != commitment else "V603" if body is None else "" if same else "V604"


def committed(salt: str, digest: bytes, length: int) -> str:
    """The commitment that a salt, a SHA-256 and a length give (section 3)."""
    opened = base64.urlsafe_b64decode(salt + "=") + digest + length.to_bytes(8, "big")
    return sha256(b"edgetape/body/v1\n" + opened).hexdigest()


# Section 10: what people said.


def remarks(members: dict[str, bytes], run: str, out: Outcome) -> dict[str, list[tuple[int, bytes, Record]]]:
    """The lines of annotations.ndjson by run: number, canonical bytes, and the whole line."""
    said, number = dict[str, list[tuple[int, bytes, Record]]](), -1
    for raw in lines(members, "annotations.ndjson", out):
        number, data, line = number + 1, raw, Record()  # one that does not say where it belongs belongs there
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            whole = record(raw)
            note, known = whole["annotation"], {"annotation"} if len(whole) == 1 else {"annotation", "salt", "text"}
            fair = has(note, "str run") and type(note["number"]) is int and set(whole) == known
            demand(fair and (len(whole) == 1 or has(whole, "salt salt str text")), "no annotation")
            run, number, line = note["run"], note["number"], whole
            data = json.dumps(note, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        said.setdefault(run, []).append((number, data, line))
    return said


def check_remarks(
    run: str, said: list[tuple[int, bytes, Record]], events: dict[int, set[str]], log: Log, words: bool, out: Outcome
) -> None:
    """Section 7, rule 16: the annotations of a run, a verdict of their own."""
    heads, gone = dict[int, set[str]](), list[tuple[int, object]]()
    for leaf in log.of(run, "annotation.head", "payload.erased"):
        if leaf["type"] == "annotation.head":
            heads.setdefault(leaf["n"], set()).add(leaf["head"])
        else:
            gone.append((max(heads, default=0), leaf.get("seq")))
    before, last = {0: {log.begun(run)[1]}} if log.origin else dict[int, set[str]](), -1
    for number, data, line in said:
        out.need(number == last + 1, "V701", f"annotation {last + 1} is missing, or {number} stands elsewhere", run)
        if number <= last:
            continue
        last, made = number, sha256(b"edgetape/annotation/v1\n" + data).hexdigest()
        before[number + 1] = {made} | heads.get(number + 1, set())
        with out.noting("V701", f"annotation {number}", run):
            note = typed(data, ANNOTATION)
            out.need(note is not NEWER, "newer", f"annotation {number}", run)
            if note is NEWER:
                continue
            seq, text = note["seq"], line.get("text")
            fair = made in heads.get(number + 1, {made}) and (number < max(heads, default=0) or log.newer)
            fair = fair and (note["run"], note["number"]) == (run, number) and note.get("supersedes", -1) < number
            fair = fair and note["prev"] in before.get(number, {note["prev"]})
            out.need(fair, "V701", f"annotation {number} is not the one that the log committed to", run, seq)
            out.need(note["event_hash"] in events.get(seq, ()), "V702", f"annotation {number}", run, seq)
            erased = any(number < count and about in (None, seq) for count, about in gone)
            fair = text is None if erased else text is not None or not words
            if text is not None:
                opened = committed(line["salt"], sha256(text.encode()).digest(), len(text.encode()))
                fair = fair and note.get("text") == {"body": opened}
            out.need(fair, "V704", f"the text of annotation {number} is not what it commits to", run, seq)
            out.counts["ANNOTATIONS_ERASED"] += words and erased and text is None
            out.counts["ANNOTATIONS_WITHHELD"] += not words
    out.need(max(heads, default=0) <= last + 1, "V703", f"the log has more annotations than {last + 1}", run)


def verify(path: Path, pin: Key | None, out: Outcome, heard: Outcome) -> str:
    """Checks everything, and gives what stands in the verdict's line behind the flags."""
    members = load(path)
    said = manifest(members, out)
    log = Log(said, members, pin, out)
    events = lines(members, "events.ndjson", out)
    kept = [line.decode("latin-1") for line in lines(members, "hashes.txt", out)]
    out.need(len(kept) == len(events) and all(is_a("hash", each) for each in kept), "V104", "not one hash an event")
    rows: dict[str, list[tuple[int, bytes, str]]] = {run: [] for run in said["runs"]}
    run, seq = min(rows, default=""), -1
    for raw, hashed in zip(events, kept):
        seq += 1  # a line that does not say where it belongs belongs behind the one before it
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            stated = json.loads(raw)
            fair = len(stated["run"]) == 36 and is_a("str", stated["run"]) and is_a("count", stated["seq"])
            run, seq = (stated["run"], stated["seq"]) if fair else (run, seq)
        out.need(run in said["runs"], "V101", f"the manifest does not name the run {run}")
        rows.setdefault(run, []).append((seq, raw, hashed))
    out.need(all(rows.values()), "V101", "the manifest names a run of which there is no event")
    found = {run: check_run(run, rows[run], log, out) for run in sorted(rows)}
    bodies = sum(1 for each in found.values() for event in each.values() for _ in commitments(event))
    if said["bodies"] == "included":
        check_bodies(found, members, log, out)
    out.counts["PAYLOADS_WITHHELD"] = 0 if said["bodies"] == "included" else bodies
    spoken = remarks(members, min(rows, default=""), out)
    out.need("annotations.ndjson" not in members or spoken, "V104", "annotations.ndjson has no line")
    heard.need(set(spoken) <= set(rows), "V702", "there are annotations of a run that is not there")
    for run in sorted(rows):
        hashes: dict[int, set[str]] = {}
        for seq, raw, hashed in rows[run] if run in spoken else ():
            hashes.setdefault(seq, set()).update({hashed, event_hash(raw)})
        check_remarks(run, spoken.get(run, []), hashes, log, said["bodies"] == "included", heard)
    heard.counts["all"] = sum(map(len, spoken.values()))
    out.need(events, "V001", "there is no event in it")
    subject = f"run {min(rows)}" if len(rows) == 1 else f"bundle of {log.origin or 'unknown'}: {len(rows)} runs"
    told = f"{len(events)} events, {bodies - out.counts['PAYLOADS_WITHHELD']} bodies; {log.sealed or 'no checkpoint'}"
    return f"{subject}: {told}; key {log.keys[-1].label if log.keys else 'unknown'}"


def main(arguments: list[str], out: Outcome, heard: Outcome) -> int:
    """Prints findings and the verdict; the exit status."""
    options = argparse.ArgumentParser(description="Verify an edgetape evidence bundle.")
    options.add_argument("bundle", nargs="?", default=".", type=Path, help="a ZIP or a folder; this folder by default")
    options.add_argument("--pin", metavar="VKEY", help="the key that has to have signed: a vkey, or its file")
    given = options.parse_args(arguments)
    told = "bundle: 0 events, 0 bodies; no checkpoint; key unknown"
    try:
        pin = given.pin and Key(Path(given.pin).read_text().strip() if Path(given.pin).is_file() else given.pin)
        with out.noting("V101", "the bundle"):
            told = verify(given.bundle, pin, out, heard)
    except (OSError, ValueError) as error:
        print(f"verify.py: {'no vkey' if isinstance(error, ValueError) else 'not read'}: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 3
    for code, run, seq, sentence in out.findings + heard.findings:
        where = (f" run {run}" if run else "") + (f" seq {seq}" if seq is not None else "")
        print(f"{code}{where}: {sentence}".encode("ascii", "backslashreplace").decode())
    names = ("OPEN_RUN", "UNSEALED_TAIL", "PAYLOADS_ERASED", "GAPS", "IMPORTED", "PARTIAL_LOG", "PAYLOADS_WITHHELD")
    flags = ([] if given.pin else ["UNATTRIBUTED"]) + ["UNWITNESSED", "UNTIMED"]
    flags += [f"{name} {out.counts[name]}" for name in names if out.counts[name]]
    codes = {each[0] for each in out.findings}
    wrong, unsure = codes - {"V001", "newer"}, codes or out.counts["GAPS"]
    status, word = (20, "INVALID") if wrong else (30, "INCOMPLETE") if unsure else (0, "VERIFIED")
    if heard.counts["all"] or heard.findings:
        own = ", ".join(f"{name} {count}" for name, count in sorted(heard.counts.items()) if count and name != "all")
        bad = {each[0] for each in heard.findings}
        judged = "INVALID" if bad - {"newer"} else "INCOMPLETE" if bad else "VERIFIED"
        print(f"{judged}{f' ({own})' if own else ''} annotations: {heard.counts['all']}")
        status = status or (10 if bad else 0)
    print(f"{word} ({', '.join(flags)}) {told}")
    if out.counts["anchors"]:
        print("Not checked here: who gave what lies in anchors/. README.txt tells how.", file=sys.stderr)
    print(str(__doc__).partition("\n\n")[2], file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Outcome(), Outcome()))
