"""The tamper matrix: each attack on a copy of a sealed store gives its code as the first bad finding; none is 0."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store.core import checkpoint
from store.core.checkpoint import VerifierKey
from store.verify import Terms, first_bad, verify
from tests.store.verify.attacker import Attacker
from tests.store.verify.attacks import bodies, events, keys, log, runs

FOREIGN = checkpoint.verifier_key("edgetape.local/foreign", Ed25519PrivateKey.from_private_bytes(bytes(32)))


@dataclass(frozen=True, slots=True)
class Case:
    """One attack, and what verification must say: the name of the run that it names, and the first bad seq."""

    code: str
    attack: Callable[[Attacker], object]
    run: str | None = None
    seq: int | None = None
    exit_code: int = 20
    pin: VerifierKey | None = None


CASES = {
    "T53 a store without an event": Case("V001", runs.empty, exit_code=30),
    "T33 white space in an event": Case("V201", events.white_space, "closed", 3),
    "T32 a duplicate member": Case("V201", events.duplicate_member, "closed", 3),
    "T34 a number with a fraction": Case("V201", events.fraction, "closed", 3),
    "T34 a number beyond 2^53": Case("V201", events.big_number, "closed", 3),
    "T35 a lone surrogate": Case("V201", events.surrogate, "closed", 3),
    "T35 bytes that are no UTF-8": Case("V201", events.no_utf8, "closed", 3),
    "an event that is empty": Case("V201", events.nothing, "closed", 3),
    "T04 a middle event dropped": Case("V202", runs.drop_middle, "closed", 3),
    "the first event dropped": Case("V202", runs.drop_first, "closed", 0),
    "T08 two events reordered": Case("V202", runs.reorder, "closed", 3),
    "T10 an event of another run": Case("V202", runs.splice, "closed", 3),
    "T01 a field edited": Case("V203", events.edit_field, "closed", 3),
    "T01 only the stored hash edited": Case("V203", events.edit_hash, "closed", 3),
    "T02 a field and its hash edited": Case("V203", events.edit_and_hash, "closed", 4),
    "T09 an event twice": Case("V204", runs.duplicate, "closed", 3),
    "T09 an opening twice": Case("V204", bodies.double_opening, "closed", 3),
    "T09 a place of a body twice": Case("V204", bodies.double_place, "closed", 3),
    "T09 a checkpoint twice": Case("V204", log.double_checkpoint),
    "the clock runs backwards": Case("V205", events.clock_back, "closed", 3),
    "T54 an unknown type": Case("V206", events.unknown_type, "closed", 3),
    "T54 an unknown member": Case("V206", events.unknown_member, "closed", 3),
    "T54 a version below the first": Case("V206", events.version_zero, "closed", 3),
    "T38 an event of 65,536 bytes": Case("V207", events.oversize, "closed", 3),
    "T12 a run removed": Case("V210", runs.remove_run, "closed"),
    "T12 an open run removed": Case("V210", runs.remove_open_run, "open"),
    "a run that the log does not know": Case("V211", runs.unlogged_run),
    "T11 another genesis": Case("V212", runs.other_genesis, "closed", 0),
    "T11 event 0 edited and all re-chained": Case("V212", runs.edit_first, "closed", 0),
    "T02 a field edited and all re-chained": Case("V213", events.edit_and_rechain, "closed", 7),
    "T05 the tail of a closed run dropped": Case("V214", runs.drop_tail, "closed"),
    "T06 the sealed tail of an open run dropped": Case("V213", runs.drop_sealed_tail, "open", 3),
    "T07 the close record removed": Case("V214", runs.remove_close, "closed"),
    "T48 an event inserted and all re-chained": Case("V214", runs.insert_event, "closed", 8),
    "T48 an event inserted into an open run": Case("V213", runs.insert_into_open, "open", 3),
    "the close counts other events": Case("V214", runs.close_count, "closed", 7),
    "an open run closed without its leaf": Case("V214", runs.close_unlogged, "open", 5),
    "the close states another root": Case("V215", runs.close_root, "closed", 7),
    "T57 an event after the close": Case("V216", runs.after_close, "closed", 8),
    "a run that is pruned on record and still there": Case("V217", runs.prune_in_name, "closed"),
    "T33 a leaf in another spelling": Case("V301", log.leaf_spelling),
    "a leaf of an unknown type": Case("V301", log.leaf_type),
    "T48 a second beginning of the log": Case("V301", log.second_beginning),
    "T16 every checkpoint signed with a new key": Case("V401", log.sign_anew),
    "T16 a signature changed": Case("V401", log.flip_signature),
    "a checkpoint that is none": Case("V401", log.no_note),
    "T13 the log cut below its checkpoint": Case("V402", log.cut_log),
    "a leaf edited and the tree regrown": Case("V403", log.edit_leaf),
    "T06 a leaf dropped from the middle": Case("V403", log.drop_leaf),
    "a node of the tree edited": Case("V403", log.edit_node),
    "a node of the tree dropped": Case("V403", log.drop_node),
    "a checkpoint at another size": Case("V403", log.moved_checkpoint),
    "a checkpoint of another log": Case("V404", log.other_origin),
    "T16 another key than the pinned one": Case("V431", runs.nothing_at_all, pin=FOREIGN),
    "T19 the retired key signs on": Case("V432", keys.retired),
    "T18 an old range signed by the newer key alone": Case("V433", keys.newer),
    "T19 the revoked key signs on": Case("V434", keys.revoked),
    "T51 a rotation forged": Case("V401", keys.forged_rotation),
    "T51 a rotation from a key that was never there": Case("V401", keys.unknown_rotation),
    "T26 a body erased without a record": Case("V601", bodies.erase, "closed", 3),
    "T22 payload and opening replaced": Case("V602", bodies.replace_body, "closed", 3),
    "T23 two bodies swapped": Case("V602", bodies.swap_bodies, "closed", 1),
    "T28 a forged opening: salt": Case("V602", bodies.forge_salt, "closed", 3),
    "T28 a forged opening: length": Case("V602", bodies.forge_length, "closed", 3),
    "a payload deleted": Case("V603", bodies.delete_payload, "closed", 3),
    "T03 a byte of a payload flipped": Case("V604", bodies.flip_payload, "closed", 3),
    "T03 a payload of the same length": Case("V604", bodies.other_payload, "closed", 3),
    "T03 a payload cut off": Case("V604", bodies.cut_payload, "closed", 3),
    "the blocks of a run deleted": Case("V604", bodies.delete_blocks, "closed", 1),
    "a body at another place": Case("V604", bodies.move_place, "closed", 3),
    "a body in a coding of its own": Case("V604", bodies.coded_piece, "closed", 3),
    "T37 bytes behind a frame": Case("V604", bodies.bytes_behind_frame, "closed", 1),
    "T37 a second frame": Case("V604", bodies.second_frame, "closed", 1),
    "T36 a frame that unpacks to a gigabyte": Case("V604", bodies.bomb, "closed", 1),
    "T37 bytes behind the last body": Case("V605", bodies.trailing_bytes, "closed"),
    "an opening that nothing commits to": Case("V606", bodies.extra_opening, "closed", 3),
    "T27 a payload whose opening is gone": Case("V601", bodies.erase_opening, "closed", 3),
    "a payload that nothing names": Case("V606", bodies.extra_payload, "closed", 3),
    "T36 a body made of a thousand copies": Case("V607", bodies.long_recipe, "closed", 3),
    "T38 a payload longer than its opening says": Case("V607", bodies.longer_payload, "closed", 3),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("scope", ["store", "run"])
def test_the_attack_is_found(case: Case, scope: str, attacker: Attacker) -> None:
    if scope == "run" and case.code == "V001":
        pytest.skip("a store without a run has none to name")
    run = attacker.run(case.run or "closed")
    assert verify(attacker.folder, attacker.keys).exit_code == 0
    expected = case.attack(attacker)
    attacker.close()
    word = (expected if isinstance(expected, str) else run) if scope == "run" else None
    verdict = verify(attacker.folder, attacker.keys, word, Terms(case.pin))
    first = verdict.findings[0] if case.seq is None else first_bad(verdict.findings)
    assert first is not None
    assert (first.code, first.seq) == (case.code, case.seq), [str(each) for each in verdict.findings]
    if case.run is not None:
        assert first.run == run
    assert verdict.exit_code == case.exit_code
    assert verdict.word in verdict.line


@pytest.mark.parametrize("change", [bodies.recompressed, bodies.respliced])
def test_t24_bodies_that_are_stored_otherwise_pass(change: Callable[[Attacker], object], attacker: Attacker) -> None:
    change(attacker)
    attacker.close()
    assert verify(attacker.folder, attacker.keys).exit_code == 0


def test_blocks_of_a_run_that_is_none_are_found(attacker: Attacker) -> None:
    bodies.extra_block(attacker)
    attacker.close()
    verdict = verify(attacker.folder, attacker.keys)
    assert [each.code for each in verdict.findings] == ["V605"]
    assert verdict.exit_code == 20


def test_every_code_has_its_attack() -> None:
    codes = {
        *map(
            "V{}".format,
            (*range(201, 208), *range(210, 218), 301, *range(401, 405), *range(431, 435), *range(601, 608)),
        )
    }
    assert {case.code for case in CASES.values()} == codes | {"V001"}


@pytest.mark.parametrize("attack", [runs.uncatalogued, runs.renamed, runs.catalogued_only])
def test_t52_a_catalogue_that_tells_something_else_is_flagged(
    attack: Callable[[Attacker], object], attacker: Attacker
) -> None:
    """It proves nothing and can be made again, so nothing is invalid; but people find runs by it."""
    attack(attacker)
    attacker.close()
    verdict = verify(attacker.folder, attacker.keys)
    assert verdict.exit_code == 0
    assert "STALE_CATALOGUE" in dict(verdict.flags)
