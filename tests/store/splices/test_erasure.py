"""An erased body leaves nothing behind that another body does not itself hold."""

from hypothesis import given
from hypothesis import strategies as st

from store.splices import stream
from store.splices.erasure import Respliced
from store.splices.splicer import Splicer
from tests.store.splices.rows import Rows, bodies, request, sentence


def sealed(sequence: list[bytes]) -> tuple[Rows, list[int]]:
    """The rows of a sealed run, and the places of its bodies."""
    splicer = Splicer()
    places = [splicer.add(body, "shelf") for body in sequence]
    log, rows = splicer.take(), Rows()
    rows.add(stream.sealed(lambda offset, length: log[offset : offset + length], len(log), level=3))
    return rows, places


@given(bodies, st.data())
def test_survivors_come_back_exactly(sequence: list[bytes], data: st.DataObject) -> None:
    before, places = sealed(sequence)
    erased = data.draw(st.sets(st.sampled_from(range(len(sequence))))) if sequence else set()
    kept = [at for at in range(len(sequence)) if at not in erased]
    respliced = Respliced(before.resolver(1 << 20), [(places[at], "shelf") for at in kept])
    after = Rows()
    after.add(respliced.blocks())
    for at in kept:
        body = sequence[at]
        assert after.resolver().body(respliced.places[places[at]], len(body)) == body


def test_the_erased_body_is_gone_though_later_ones_copied_from_it() -> None:
    talk = [sentence(n, 60) for n in range(10)]
    secret = request([*talk[:3], "the canary sings", *talk[3:5]])
    sequence = [request(talk[:3]), secret, request(talk)]
    before, places = sealed(sequence)
    assert b"canary" in before.log().read(0, before.log().end)
    respliced = Respliced(before.resolver(), [(places[0], ""), (places[2], "")])
    after = Rows()
    after.add(respliced.blocks())
    whole = after.log().read(0, after.log().end)
    assert b"canary" not in whole
    assert set(respliced.places) == {places[0], places[2]}
    assert after.resolver().body(respliced.places[places[2]], len(sequence[2])) == sequence[2]


def test_a_coded_body_stays_coded() -> None:
    splicer = Splicer()
    place = splicer.add(b"content", coding=b"how")
    log, rows = splicer.take(), Rows()
    rows.add(stream.sealed(lambda offset, length: log[offset : offset + length], len(log)))
    respliced = Respliced(rows.resolver(), [(place, "")])
    after = Rows()
    after.add(respliced.blocks())
    found = after.resolver().stored(respliced.places[place])
    assert (found.content, found.coding) == (b"content", b"how")
