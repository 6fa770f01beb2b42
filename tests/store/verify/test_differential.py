"""Two verifiers that were written apart find the same in every damaged store, and agree about the vectors."""

import json
import random
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from store import custody
from store.core.checkpoint import VerifierKey
from store.core.errors import StoreUnusable
from store.erasure import Erasure
from store.verify import Terms
from store.verify import verify as first
from tests.store.verify.attacker import Attacker
from tests.store.verify.attacks import bodies, keys, log
from tests.store.verify.attacks.keys import rotate
from tests.store.verify.rolling import formed
from tests.support.anchored import cosign, stamp
from tests.support.sample import Sample
from tests.support.tape import Call, Tape, seeded, tape
from tests.support.time_authority import TimeAuthority
from tests.support.verifier import verify as second
from tests.support.verifier.attacks import ATTACKS, empty_bytes
from tests.support.verifier.canonical import NotCanonicalError, commitments, read
from tests.support.verifier.damage import Damage, damaged
from tests.support.verifier.hashes import Tree, annotation_hash, commitment, event_hash, genesis_prev, leaf_hash
from tests.support.verifier.kinds import is_annotation, is_event, is_leaf
from tests.support.verifier.notes import Checkpoint, Key
from tests.support.verifier.opener import Opener
from tests.support.verifier.rows import Block, Opening
from tests.support.verifier.sealed import events_of, openings_of
from tests.support.witness import Witness
from tests.vectors.samples import ORIGIN

type Vector = dict[str, Any]  # JSON that the project's own script has made
type Verdict = tuple[Counter[tuple[str, str | None, int | None]], int]

FORMS = ("rows", "blocks", "as they are")
VECTORS = Path(__file__).parents[2] / "vectors"


def both(folder: Path, run: str | None, pin: str | None = None) -> tuple[Verdict, Verdict]:
    """What the project's verifier and the second one say."""
    theirs = second(folder, folder.parent / "keys", run, pin)
    said = theirs.findings + theirs.remarks
    other = Counter((finding.code, finding.run, finding.seq) for finding in said), theirs.exit_status
    try:
        terms = Terms(VerifierKey.parse(pin) if pin else None)
        ours = first(folder, folder.parent / "keys", run, terms)
    except StoreUnusable:
        return (Counter(), 3), other
    found = (*ours.findings, *ours.remarks.findings)
    return (Counter((finding.code, finding.run, finding.seq) for finding in found), ours.exit_code), other


def difference(ours: Verdict, theirs: Verdict) -> str:
    """How the two disagree."""
    alone = [sorted((one[0] - other[0]).elements(), key=str) for one, other in ((ours, theirs), (theirs, ours))]
    common = sorted((ours[0] & theirs[0]).elements(), key=str)
    return f"project {ours[1]} alone {alone[0]}; second {theirs[1]} alone {alone[1]}; both {common}"


def fill(made: Tape, sample: Sample) -> list[str]:
    """Six runs: two closed, one open, one of a single event, one whose bodies repeat one another, one partly erased."""
    source = sample.source("store")
    runs = [made.run(seeded(source, 4), "one"), made.run(seeded(source, 2), close=False)]
    made.note(runs[1], b"a note")
    runs += [made.run(seeded(source, 1), "two"), made.open("empty", argv=[b"a", b"b"])]
    said = [f"{number}: {source.randbytes(200).hex()}" for number in range(8)]
    calls = [Call(body=json.dumps([{"n": number, "said": said[: number + 1]}]).encode()) for number in range(8)]
    talk = made.run(calls[:4], close=False)
    made.note(talk, said[0].encode() * 3).result(30)
    for call in calls[4:]:
        made.request(talk, call).result(30)
    erased = made.run(calls)
    for seq in (0, 4, 5):
        made.annotate(erased, seq, f"about {seq}")
    made.writer.erase(Erasure(erased, (1, 4), "operator", "a reason")).result(30)
    made.annotate(erased, 4, "after the erasure")
    made.annotate(runs[0], made.annotate(runs[0], 2, "a remark") + 2, "a correction", supersedes=0)
    stamp(made.folder, made.keys, TimeAuthority(made.folder.parent / "tsa"))
    cosign(made.folder, made.keys, Witness({}))
    return [*runs, talk, erased]


@pytest.mark.timeout(1200)
def test_both_find_the_same_damage(sample: Sample, tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        runs = fill(made, sample)
    for run in (None, *runs):
        assert both(made.folder, run) == ((Counter(), 0), (Counter(), 0))
    count = sample.count(40, 4000)
    disagreements: list[str] = []
    found = 0
    for number, attack in enumerate(islice(cycle(ATTACKS), count)):
        source = sample.source(str(number))
        with damaged(made.folder, tmp_path / "copy", source) as store:
            pin = source.choice([None, store.vkey()])
            with formed(store.connection, source.choice(FORMS)):
                attack(store)
        for run in (None, source.choice(runs)):
            ours, theirs = both(tmp_path / "copy", run, pin)
            found += theirs[1] != 0
            if ours != theirs:
                disagreements.append(f"{number} {attack.__name__}: {run}: {difference(ours, theirs)}")
    assert not disagreements, f"{len(disagreements)} disagreements:\n" + "\n".join(disagreements)
    sample.measured(f"two verifiers agree {2 * count} times about damaged stores; {found} times these are not VERIFIED")


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(empty_bytes, id="kind text, b64 of no bytes"),
    ],
)
def test_both_find_the_same_where_the_page_was_once_unclear(attack: Callable[[Damage], None], tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        made.run(seeded(random.Random(1), 1))
    with damaged(made.folder, tmp_path / "copy", random.Random(1)) as store, formed(store.connection, "blocks"):
        attack(store)
    ours, theirs = both(tmp_path / "copy", None)
    assert ours == theirs, difference(ours, theirs)


KEY_ATTACKS = (keys.retired, keys.newer, keys.revoked, keys.forged_rotation, keys.unknown_rotation)


@pytest.mark.parametrize("attack", [rotate, *KEY_ATTACKS], ids=lambda attack: attack.__name__)
def test_both_find_the_same_key_used_where_it_does_not_count(
    attack: Callable[[Attacker], object], tmp_path: Path
) -> None:
    with tape(tmp_path) as made:
        made.run([Call()])
    attacker = Attacker(made.folder)
    first_key = str(attacker.key)
    attack(attacker)
    attacker.close()
    for pin in (None, first_key):
        ours, theirs = both(made.folder, None, pin)
        assert ours == theirs, difference(ours, theirs)


@pytest.mark.parametrize("attack", [bodies.double_opening, bodies.double_place, log.double_checkpoint])
def test_both_find_rows_that_are_there_twice(attack: Callable[[Attacker], None], attacker: Attacker) -> None:
    attack(attacker)
    attacker.close()
    ours, theirs = both(attacker.folder, None)
    assert ours == theirs, difference(ours, theirs)
    assert ours[1] == 20


@pytest.mark.timeout(600)
def test_both_find_the_same_damage_where_a_key_was_rotated_and_one_revoked(sample: Sample, tmp_path: Path) -> None:
    with tape(tmp_path) as made:
        fill(made, sample)
    vkeys = [str(custody.show(made.folder, made.keys)[1][0].term.key)]
    vkeys += [str(custody.rotate(made.folder, made.keys)) for _ in range(2)]
    custody.revoke(made.folder, made.keys, vkeys[0], "lost")
    for pin in (None, *vkeys):
        assert both(made.folder, None, pin) == ((Counter(), 0), (Counter(), 0))
    for number, attack in enumerate(islice(cycle(ATTACKS), sample.count(24, 2000))):
        source = sample.source(str(number))
        with damaged(made.folder, tmp_path / "copy", source) as store, formed(store.connection, source.choice(FORMS)):
            attack(store)
        ours, theirs = both(tmp_path / "copy", None, source.choice([None, *vkeys]))
        assert ours == theirs, f"{number} {attack.__name__}: {difference(ours, theirs)}"


def test_both_say_the_same_of_what_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "edgetape.db").write_bytes(b"junk" * 2048)
    assert both(tmp_path, None) == ((Counter(), 3), (Counter(), 3))


def vectors(name: str) -> list[Vector]:
    made: list[Vector] = json.loads((VECTORS / f"{name}.json").read_text())
    return made


def test_the_second_reads_the_vectors_of_canonical_bytes() -> None:
    for vector in vectors("canonical"):
        if "refused" in vector:
            with pytest.raises(NotCanonicalError):
                read(bytes.fromhex(vector["bytes"]))
        else:
            assert read(vector["canonical"].encode()) == vector["record"]


def test_the_second_reads_the_vectors_of_events_and_their_bodies() -> None:
    for vector in vectors("events"):
        data = vector["canonical"].encode()
        assert is_event(read(data)), vector["name"]
        assert event_hash(data).hex() == vector["hash"]
        committed = {}
        for opening in vector["openings"]:
            content, salt = bytes.fromhex(opening["content"]), bytes.fromhex(opening["salt"])
            assert sha256(content).hexdigest() == opening["sha256"]
            committed[opening["pointer"]] = commitment(salt, sha256(content).digest(), len(content))
        assert commitments(read(data)) == committed


def test_the_second_reads_the_vectors_of_leaves_trees_and_checkpoints() -> None:
    for vector in vectors("leaves"):
        assert is_leaf(read(vector["canonical"].encode()))
        assert leaf_hash(vector["canonical"].encode()).hex() == vector["leaf_hash"]
    for vector in vectors("trees"):
        tree = Tree([leaf_hash(bytes.fromhex(leaf)) for leaf in vector["leaves"]])
        assert tree.root(len(tree)).hex() == vector["root"]
    for vector in vectors("checkpoints"):
        key, note = Key.read(vector["vkey"]), Checkpoint.read(vector["note"].encode())
        assert key is not None
        assert note is not None
        assert (note.origin, note.size, note.root.hex()) == (key.name, vector["size"], vector["root"])
        assert note.is_signed_by(key)


def test_the_second_opens_the_vectors_of_keys(tmp_path: Path) -> None:
    shown, *wrapped, block, first_opening, derived = vectors("keys")
    (tmp_path / f"{shown['origin'].replace('/', '_')}.storekey").write_bytes(bytes.fromhex(shown["store_key"]))
    opener = Opener.of(tmp_path, shown["origin"], {"store": bytes.fromhex(shown["wrapped"])})
    keys = opener.run(wrapped[0]["run"], {each["kind"]: bytes.fromhex(each["wrapped"]) for each in wrapped})
    assert keys is not None
    assert [keys.payload.hex(), keys.salt.hex()] == [each["key"] for each in wrapped]
    assert keys.content(Block(**block["block"], stored=bytes.fromhex(block["stored"]))).hex() == block["content"]
    for each in (first_opening, derived):
        kept = Opening(bytes.fromhex(each["kept_salt"]), bytes.fromhex(each["kept_digest"]), 5)
        opened = keys.shown(each["seq"], each["pointer"], kept)
        assert (opened.salt.hex(), opened.digest.hex()) == (each["salt"], each["sha256"])


def test_the_second_reads_the_vectors_of_annotations() -> None:
    for number, vector in enumerate(vectors("annotations")):
        record = read(vector["canonical"].encode())
        assert is_annotation(record)
        assert annotation_hash(vector["canonical"].encode()) == vector["hash"]
        opener = Opener(ORIGIN, bytes.fromhex(vector["store_key"]))
        salt, text = opener.text(str(record["run"]), number, bytes.fromhex(vector["stored"]))
        assert (salt.hex(), text.decode()) == (vector["salt"], vector["text"])
        assert commitment(salt, sha256(text).digest(), len(text)) == commitments(record)["/text"]
        assert read(vector["line"].encode())["annotation"] == record


def test_the_second_reads_the_vectors_of_blocks() -> None:
    events, openings = vectors("blocks")
    columns = (bytes.fromhex(events[name]) for name in ("hashes", "digits", "text"))
    found = events_of(events["run"], events["first"], *columns)
    assert [data.decode() for _, _, data, _ in found] == events["events"]
    assert [event_hash(data) for _, _, data, _ in found] == [kept for _, kept, _, _ in found]
    columns = (bytes.fromhex(openings[name]) for name in ("digests", "rows"))
    told = [
        {"seq": one.seq, "pointer": one.pointer, "salt": one.salt.hex(), "sha256": one.digest.hex()}
        | {"length": one.length, "place": one.place}
        for one in openings_of(openings["run"], openings["first"], *columns)
    ]
    assert told == openings["openings"]


def test_the_second_makes_the_vectors_of_hashes() -> None:
    event, genesis, body = vectors("hashes")
    assert event_hash(event["event"].encode()).hex() == event["hash"]
    assert genesis_prev(genesis["origin"], genesis["run"]) == genesis["hash"]
    assert commitment(bytes.fromhex(body["salt"]), bytes.fromhex(body["sha256"]), body["length"]) == body["hash"]
