"""Events: every type goes to bytes and back, and what version 1 does not know is refused or left undecided."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core import canonical, draft, event, shape
from store.core.digest import event_hash
from store.core.errors import Malformed
from store.core.event import Event, Place
from store.core.model import EVENT_TYPES, Facts
from store.core.shape import UnknownShape, UnknownVersion
from tests.vectors import refused, samples

EVENTS = list(samples.events())
PLACE = Place(samples.RUN, 3, samples.HEX, samples.TIME, 17)


def encoded(facts: Facts, contents: tuple[bytes, ...]) -> bytes:
    members, _ = draft.seal(*draft.weighed(draft.Draft(facts, contents)), samples.salts())
    return event.encode(PLACE, members)


RAW = encoded(*EVENTS[6][1:])


def whole(members: canonical.Record, place: Place = PLACE) -> canonical.Record:
    return {**members, **msgspec.structs.asdict(place), "v": 1}


def record(**changed: canonical.Json) -> canonical.Record:
    return {**canonical.parse(RAW), **changed}


def test_there_is_a_sample_of_every_event_type() -> None:
    assert {shape.type_name(facts) for _, facts, _ in EVENTS} == set(EVENT_TYPES)


@pytest.mark.parametrize("name, facts, contents", EVENTS, ids=[name for name, *_ in EVENTS])
def test_an_event_comes_back_from_its_bytes(name: str, facts: Facts, contents: tuple[bytes, ...]) -> None:
    raw = encoded(facts, contents)
    happened = event.decode(raw)
    assert happened.place == PLACE
    assert happened.type == shape.type_name(facts) == name.partition(" ")[2]
    assert (happened.run, happened.seq) == (samples.RUN, 3)
    assert event.encode(happened.place, shape.members(happened.facts)) == raw


@pytest.mark.parametrize("name, facts, contents", EVENTS, ids=[name for name, *_ in EVENTS])
def test_an_event_that_is_read_later_is_the_same(name: str, facts: Facts, contents: tuple[bytes, ...]) -> None:
    raw = encoded(facts, contents)
    later, at_once = event.glimpsed(raw), event.decode(raw)
    assert later.glimpse == at_once.glimpse
    assert (later.run, later.seq, later.type, later.req) == (at_once.run, at_once.seq, at_once.type, at_once.req)
    assert (later.facts, later.place) == (at_once.facts, at_once.place)
    assert later == at_once
    assert later != event.decode(encoded(*EVENTS[0][1:])) or raw == encoded(*EVENTS[0][1:])


@given(at=st.integers(0, len(RAW) - 1), mask=st.integers(1, 255))
def test_any_changed_byte_is_refused_or_breaks_the_hash(at: int, mask: int) -> None:
    changed = RAW[:at] + bytes([RAW[at] ^ mask]) + RAW[at + 1 :]
    assert event_hash(changed) != event_hash(RAW)
    try:
        happened: Event | None = event.decode(changed)
    except Malformed:
        happened = None
    assert happened != event.decode(RAW)


@given(which=st.sampled_from(EVENTS), source=st.randoms(use_true_random=False))
def test_an_event_that_is_read_later_is_refused_when_it_is_read(
    which: tuple[str, Facts, tuple[bytes, ...]], source: Random
) -> None:
    raw = encoded(*which[1:])
    start = source.randrange(len(raw))
    changed = raw[:start] + source.choice(ODD) + raw[start + source.randrange(4) :]

    def read() -> Event:
        later = event.glimpsed(changed)
        return Event(later.place, later.facts)

    assert outcome(read) == in_short(changed)


def outcome[T](read: Callable[[], T]) -> T | type[Malformed]:
    """What reading or writing gives, or how it fails."""
    try:
        return read()
    except Malformed as error:
        return type(error)


def by_rule(raw: bytes) -> Event | type[Malformed]:
    """What the rules give one after the other, without the shorter way."""
    return outcome(lambda: event.from_record(canonical.parse(raw)))


def in_short(raw: bytes) -> Event | type[Malformed]:
    return outcome(lambda: event.decode(raw))


ODD = [
    b"9007199254740992",
    b"-0",
    b"0",
    b"1.0",
    b"null",
    b"true",
    b'"',
    b'"\\u0061"',
    b"{}",
    b"[]",
    b" ",
    b",",
    b'"v":1,',
    b"\xff",
]


@given(which=st.sampled_from(EVENTS), source=st.randoms(use_true_random=False), odd=st.sampled_from(ODD))
def test_the_short_way_to_an_event_refuses_what_the_rules_refuse(
    which: tuple[str, Facts, tuple[bytes, ...]], source: Random, odd: bytes
) -> None:
    raw = encoded(*which[1:])
    assert in_short(raw) == by_rule(raw)
    start = source.randrange(len(raw))
    end = min(len(raw), start + source.randrange(4))
    for changed in (raw[:start] + odd + raw[end:], raw[:start] + raw[end:], raw[:end] + raw[start:]):
        assert in_short(changed) == by_rule(changed)


@given(which=st.sampled_from(EVENTS), source=st.randoms(use_true_random=False), odd=st.sampled_from(ODD))
def test_the_short_way_refuses_odd_values_in_odd_places(
    which: tuple[str, Facts, tuple[bytes, ...]], source: Random, odd: bytes
) -> None:
    raw = encoded(*which[1:])
    values = [found.span() for found in re.finditer(rb'(?<=":)("[^"]*"|[0-9]+|true|false)', raw)]
    start, end = source.choice(values)
    changed = raw[:start] + odd + raw[end:]
    assert in_short(changed) == by_rule(changed)


UNSPELLED: list[object] = [
    2**53, -(2**53), 2**64, 1.0, 17.0, -0.0, None, True, "", "a" * 70, "\ud800", b"a", {}, {"A": "a"},
    {"body": samples.HEX},
    [], [[]], [1.0], ["a", 2**53], [[["a"]]], ("a", "b"),
]  # fmt: skip


@given(which=st.sampled_from(EVENTS), source=st.randoms(use_true_random=False), odd=st.sampled_from(UNSPELLED))
def test_what_version_1_takes_has_a_canonical_spelling(
    which: tuple[str, Facts, tuple[bytes, ...]], source: Random, odd: object
) -> None:
    members: dict[str, Any] = json.loads(msgspec.json.encode(draft.weighed(draft.Draft(*which[1:]))[0]))
    shape.facts(members, EVENT_TYPES)
    place: Any = members
    while True:
        at = source.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not (isinstance(place[at], dict | list) and place[at] and source.random() < 0.7):
            break
        place = place[at]
    place[at] = odd
    try:
        shape.facts(members, EVENT_TYPES)
    except UnknownShape:
        return
    assert outcome(lambda: event.encode(PLACE, members)) == outcome(lambda: canonical.encode(whole(members)))


@pytest.mark.parametrize("mono_us", [1.0, 2**53, None, True, "1"])
def test_an_event_stands_nowhere_that_has_no_canonical_spelling(mono_us: int) -> None:
    members = shape.members(EVENTS[6][1])
    place = msgspec.structs.replace(PLACE, mono_us=mono_us)
    assert outcome(lambda: event.encode(place, members)) == outcome(lambda: canonical.encode(whole(members, place)))


@pytest.mark.parametrize("why", refused.SPELLINGS)
def test_the_short_way_refuses_each_refused_spelling(why: str) -> None:
    assert in_short(refused.SPELLINGS[why]) == by_rule(refused.SPELLINGS[why])


@pytest.mark.parametrize(
    "changed",
    [
        {"type": "http.unknown"},
        {"type": None},
        {"type": ["http.request"]},
        {"v": 0},
        {"v": True},
        {"v": "1"},
        {"more": 1},
        {"body": None},
        {"truncated": False},
        {"method": {"b64": "AA", "body": samples.HEX}},
        {"method": {}},
        {"method": {"b64": "_x"}},
        {"method": {"b64": "_w=="}},
        {"method": {"b64": "+w"}},
        {"body": {"b64": "AA"}},
        {"body": {"body": "#0"}},
        {"body": {"body": samples.HEX.upper()}},
        {"body": {"body": samples.HEX + "\n"}},
        {"headers": [["name"]]},
        {"headers": [["name", "value", "more"]]},
        {"port": "443"},
        {"port": True},
        {"seq": -1},
        {"seq": "3"},
        {"mono_us": -1},
        {"run": samples.RUN.upper()},
        {"run": samples.RUN + "\n"},
        {"prev": samples.HEX.upper()},
        {"prev": samples.HEX + "\n"},
        {"prev": samples.HEX[1:]},
        {"ts": "2026-11-29T08:07:06Z"},
        {"ts": "2026-11-29T08:07:06.000005+00:00"},
        {"ts": "٢٠٢٦-11-29T08:07:06.000005Z"},
        {"ts": samples.TIME + "\n"},
    ],
    ids=str,
)
def test_a_record_that_version_1_does_not_know_is_refused(changed: dict[str, canonical.Json]) -> None:
    with pytest.raises(UnknownShape):
        event.from_record(record(**changed))
    with pytest.raises(UnknownShape):
        event.decode(canonical.encode(record(**changed)))


@pytest.mark.parametrize("missing", ["v", "run", "seq", "prev", "ts", "mono_us", "method", "type"])
def test_a_record_without_a_member_that_it_needs_is_refused(missing: str) -> None:
    with pytest.raises(UnknownShape):
        event.from_record({name: value for name, value in record().items() if name != missing})


def test_t54_a_record_of_a_later_version_is_not_judged() -> None:
    with pytest.raises(UnknownVersion):
        event.from_record(record(v=2, type="http.telepathy", whatever=[1]))


def test_a_time_is_spelled_in_utc_to_the_microsecond() -> None:
    assert event.timestamp(datetime(2026, 11, 29, 8, 7, 6, 5, UTC)) == samples.TIME
    assert event.timestamp(datetime(2026, 11, 29, 9, 7, 6, 5, timezone(timedelta(hours=1)))) == samples.TIME
