"""Nothing stands behind what is signed: a bundle holds what its checkpoint covers, and no more."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from store.core import canonical, digest
from store.erasure import Erasure
from tests.store.bundle.conftest import CALLS, SECRET
from tests.store.bundle.parcel import Parcel, both, export
from tests.support.tape import tape

MIDDLE = 3


def add_leaf(parcel: Parcel, **said: canonical.Json) -> None:
    written = canonical.encode({"ts": "2026-01-01T00:00:00.000000Z", "v": 1, **said})
    parcel.put_lines("log.ndjson", [*parcel.lines("log.ndjson"), written])


def erase(parcel: Parcel) -> None:
    """Takes a body out, and logs that it was erased."""
    run = json.loads(parcel.members["manifest.json"])["runs"][0]
    add_leaf(parcel, type="payload.erased", run=run, seq=MIDDLE, by="nobody", reason="it was in the way")
    lines = [line for line in parcel.lines("openings.ndjson") if json.loads(line)["seq"] != MIDDLE]
    parcel.put_lines("openings.ndjson", lines)
    gone = [name for name, content in parcel.members.items() if name.startswith("blobs/") and SECRET in content]
    for name in gone:
        del parcel.members[name]


def go_on(parcel: Parcel) -> None:
    """Appends an event to a run that is open."""
    lines = parcel.lines("events.ndjson")
    last = json.loads(lines[-1])
    more = {**last, "seq": last["seq"] + 1, "prev": digest.event_hash(lines[-1]).hex()}
    parcel.put_lines("events.ndjson", [*lines, canonical.encode(more)])
    places = [json.loads(line) for line in parcel.lines("openings.ndjson")]
    copies = [canonical.encode({**place, "seq": more["seq"]}) for place in places if place["seq"] == last["seq"]]
    parcel.put_lines("openings.ndjson", [*parcel.lines("openings.ndjson"), *copies])
    parcel.rehash()


def any_leaf(parcel: Parcel) -> None:
    add_leaf(parcel, type="recorder.stop", recorder="nobody")


@pytest.mark.parametrize(
    "words, attack, expected",
    [
        pytest.param("closed", erase, ("V104", None), id="an erasure that nobody logged"),
        pytest.param("open", go_on, ("V104", 3), id="an event that nobody recorded"),
        pytest.param("closed", any_leaf, ("V104", None), id="a leaf"),
    ],
)
def test_nothing_stands_behind_what_is_signed(
    words: str, attack: Callable[[Parcel], None], expected: tuple[str, int | None], recorded: Path, tmp_path: Path
) -> None:
    parcel = Parcel(export(recorded, words))
    attack(parcel)
    parcel.seal()
    code, findings = both(parcel.write(tmp_path / "attacked.zip"))
    assert (code, expected in findings) == (20, True), findings


@pytest.fixture(scope="module")
def erased(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run of which one event's bodies, and one of which all bodies, are erased on record."""
    base = tmp_path_factory.mktemp("erased")
    with tape(base) as made:
        one, all_of_it = made.run(CALLS, "one"), made.run(CALLS, "all")
        made.writer.erase(Erasure(one, (MIDDLE,), "somebody", "asked for")).result(30)
        made.writer.erase(Erasure(all_of_it, None, "somebody", "asked for")).result(30)
    return base / "store"


@pytest.mark.parametrize("proofs", [False, True])
@pytest.mark.parametrize("words", ["one", "all"])
def test_bodies_that_are_erased_on_record_are_counted_by_both_verifiers(
    words: str, proofs: bool, erased: Path, tmp_path: Path
) -> None:
    path = Parcel(export(erased, words, proofs=proofs)).write(tmp_path / "erased.zip")
    assert both(path) == (0, [])


@pytest.mark.parametrize("proofs", [False, True])
def test_t27_a_body_that_is_there_though_it_was_erased_is_named(proofs: bool, erased: Path, tmp_path: Path) -> None:
    parcel = Parcel(export(erased, "one", proofs=proofs))
    place = json.loads(parcel.lines("openings.ndjson")[0])
    lines = [*parcel.lines("openings.ndjson"), canonical.encode({**place, "seq": MIDDLE, "pointer": "/body"})]
    parcel.put_lines("openings.ndjson", sorted(lines, key=lambda line: (json.loads(line)["seq"], line)))
    parcel.seal()
    code, findings = both(parcel.write(tmp_path / "attacked.zip"))
    assert (code, ("V606", MIDDLE) in findings) == (20, True), findings
