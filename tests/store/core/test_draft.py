"""Drafts: what is long stands apart, every commitment has its opening, and no content bursts an envelope."""

import hashlib
from collections import Counter
from itertools import count

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core import canonical, digest, draft, event, shape
from store.core.draft import PAIRS_BYTES_MAX, TEXT_BYTES_MAX, Draft, Sheet, commitments, seal, weighed
from store.core.model import EVENT_TYPES, Facts, HttpRequest, HttpResponse
from store.core.redact import Redacted, stored
from store.core.text import Apart, Body, Headers, Text, text_bytes
from tests.vectors import samples


def request(sheet: Sheet, path: Text = "/", headers: Headers | None = None, body: Body | None = None) -> Draft:
    return sheet.draft(
        HttpRequest(
            method="GET",
            scheme="https",
            host="h",
            port=443,
            path=path,
            http_version="HTTP/1.1",
            headers=[] if headers is None else headers,
            body=body,
        )
    )


def at(record: canonical.Json, pointer: str) -> canonical.Json:
    """What a JSON Pointer names (RFC 6901; our member names need no escapes)."""
    for step in pointer.split("/")[1:]:
        if isinstance(record, dict):
            record = record[step]
        else:
            assert isinstance(record, list)
            record = record[int(step)]
    return record


def named_by(members: canonical.Record) -> dict[str, str]:
    """The commitments of an event that has these members."""
    return commitments(shape.facts(members, EVENT_TYPES))


@pytest.mark.parametrize("name, facts, contents", [*samples.events()])
def test_every_commitment_of_an_event_has_its_opening(name: str, facts: Facts, contents: tuple[bytes, ...]) -> None:
    members, openings = seal(*weighed(Draft(facts, contents)), samples.salts())
    found = named_by(members)
    assert {opening.pointer for opening in openings} == set(found), name
    for opening in openings:
        assert opening.sha256 == hashlib.sha256(samples.held(opening)).digest()
        named = digest.commitment(opening.salt, opening.sha256, len(opening.content)).hex()
        assert found[opening.pointer] == named
        assert at(members, opening.pointer) == {"body": named}


@given(contents=st.lists(st.binary(max_size=3000), max_size=6), path=st.binary(max_size=3000))
def test_bodies_wherever_they_stand_are_committed_once_each(contents: list[bytes], path: bytes) -> None:
    sheet = Sheet()
    headers = sheet.pairs([(stored(b"x-%d" % number), stored(each)) for number, each in enumerate(contents)])
    drafted = request(sheet, sheet.text(stored(path)), headers, sheet.apart(stored(b"body")))
    members, openings = seal(*weighed(drafted), samples.salts())
    assert Counter(samples.held(opening) for opening in openings) == Counter(drafted.contents)
    assert {opening.pointer: _named(opening) for opening in openings} == named_by(members)
    raw = canonical.encode(members)
    assert commitments(shape.facts(members, EVENT_TYPES), raw) == named_by(members)
    assert len({opening.salt for opening in openings}) == len(openings)


def _named(opening: draft.Opening) -> str:
    return digest.commitment(opening.salt, opening.sha256, len(opening.content)).hex()


def test_the_same_body_twice_has_two_commitments() -> None:
    sheet = Sheet()
    drafted = request(sheet, sheet.apart(stored(b"same")), body=sheet.apart(stored(b"same")))
    members, _ = seal(*weighed(drafted), samples.salts())
    assert len(set(named_by(members).values())) == 2


@given(raw=st.binary(max_size=2 * TEXT_BYTES_MAX) | st.text(max_size=TEXT_BYTES_MAX).map(str.encode))
def test_a_text_is_in_the_envelope_only_if_it_is_short_there(raw: bytes) -> None:
    sheet = Sheet()
    spelled = sheet.text(stored(raw))
    if isinstance(spelled, Body):
        assert sheet.contents == [raw]
        assert len(raw) * 6 > TEXT_BYTES_MAX
    else:
        assert text_bytes(spelled) == raw
        assert len(msgspec.json.encode(spelled)) <= TEXT_BYTES_MAX + 2


def test_a_kibibyte_of_plain_text_stays_and_one_more_goes() -> None:
    sheet = Sheet()
    assert sheet.text(stored(b"x" * TEXT_BYTES_MAX)) == "x" * TEXT_BYTES_MAX
    assert isinstance(sheet.text(stored(b"x" * (TEXT_BYTES_MAX + 1))), Body)


@pytest.mark.parametrize(
    "pairs", [[(b"n", b"v")] * 4000, [(b"n", b"v" * PAIRS_BYTES_MAX)], [(b"\xff" * 40, b"\x01")] * 300]
)
def test_a_long_header_list_is_one_body_that_spells_the_same_list(pairs: list[tuple[bytes, bytes]]) -> None:
    sheet = Sheet()
    headers = sheet.pairs([(stored(name), stored(value)) for name, value in pairs])
    assert isinstance(headers, Body)
    (content,) = sheet.contents
    assert isinstance(content, bytes)
    spelled = msgspec.json.decode(content, type=list[tuple[str | Apart, str | Apart]])
    assert [(text_bytes(name), text_bytes(value)) for name, value in spelled] == pairs


# T39: whatever stands in them, texts are texts.
HOSTILE = [
    b"\x01" * TEXT_BYTES_MAX,
    b"\xff" * TEXT_BYTES_MAX,
    b'"' * TEXT_BYTES_MAX,
    "\u2028".encode() * 341,
    b"'; DROP TABLE events; --",
]


@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_the_wire_makes_a_record_too_long(raw: bytes) -> None:
    sheet = Sheet()

    def text() -> Text:
        return sheet.text(stored(raw))

    long = sheet.pairs([(stored(b"\x01"), stored(b"\x01" * 1000))] * 2)
    drafted = sheet.draft(
        HttpResponse(
            req=1,
            status=200,
            http_version=text(),
            headers=long,
            ended="complete",
            framing="none",
            reason=text(),
            trailers=long,
            upstream=text(),
            tls=text(),
            model=text(),
            usage=[["\x01" * 256, 1]] * 32,
            stop=text(),
            tools=["\x01" * 256] * 100,
            provider_request_id=text(),
            receipt=text(),
        )
    )
    members, openings = seal(*weighed(drafted), samples.salts())
    raw_event = event.encode(event.Place(samples.RUN, 1, samples.HEX, samples.TIME, 0), members)
    facts = event.decode(raw_event).facts
    assert set(commitments(facts)) == {opening.pointer for opening in openings}
    assert commitments(facts, raw_event) == commitments(facts)


def test_what_labels_read_out_stays_in_an_envelope_that_has_room_for_it() -> None:
    drafted = Sheet().draft(
        HttpResponse(
            req=1, status=200, http_version="1", headers=[], ended="complete", framing="none", tools=["x" * 256] * 100
        )
    )
    assert isinstance(drafted.facts, HttpResponse)
    assert drafted.facts.tools == ["x" * 256] * 100


def test_every_body_gets_a_salt_of_its_own() -> None:
    sheet = Sheet()
    drafted = request(
        sheet, sheet.apart(Redacted(b"", 0)), sheet.apart(Redacted(b"", 0)), sheet.apart(Redacted(b"", 0))
    )
    numbers = count()
    _, openings = seal(*weighed(drafted), lambda _: next(numbers).to_bytes(32))
    assert sorted(int.from_bytes(opening.salt) for opening in openings) == [0, 1, 2]
