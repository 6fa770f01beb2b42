"""Server-sent events: the rules of the HTML standard, and the same events wherever the chunks are cut."""

import re
from itertools import pairwise

import httpx_sse
import pytest
from httpx_sse._decoders import SSEDecoder, SSELineDecoder
from hypothesis import example, given
from hypothesis import strategies as st

from store.labels.event_stream import Event, EventStream, events

# pieces that make the grammar's corners likely
PIECES = [
    b"data: one",
    b"data:two",
    b"data:  three",
    b"data",
    b"event: named",
    b"event:",
    b"id: 7",
    b"id: \0",
    b"id",
    b"retry: 100",
    b"retry: 1e3",
    b": comment",
    b"unknown: field",
    b" data: not a field",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"\xe2\x82\xac",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
]
bodies = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=4)), max_size=40).map(b"".join)


def read(body: bytes) -> list[Event]:
    return list(events([body]))


@pytest.mark.parametrize(
    "body, expected",
    [
        (b"data: a\n\n", [Event("message", "a")]),
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [Event("message", "YHOO\n+2\n10")]),
        (b"data\n\ndata\ndata\n\ndata:", [Event("message", ""), Event("message", "\n")]),
        (b"data:test\n\ndata: test\n\n", [Event("message", "test"), Event("message", "test")]),
        (b"data:  two spaces\n\n", [Event("message", " two spaces")]),
        (b"event: add\ndata: 1\n\ndata: 2\n\n", [Event("add", "1"), Event("message", "2")]),
        (b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", [Event("message", x, i) for x, i in ("a1", "b1", ("c", ""))]),
        (b"id: a\0b\ndata: x\n\n", [Event("message", "x")]),
        (b"event: lonely\n\ndata: x\n\n", [Event("message", "x")]),
        (b": comment\n\ndata: x\n\n", [Event("message", "x")]),
        (b"\xef\xbb\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n", [Event("message", "x")]),
        (b"data: \xff\xc3\n\n", [Event("message", "\ufffd\ufffd")]),
        (b"data: a\r\rdata: b\n\ndata: c\r\n\r\n", [Event("message", x) for x in "abc"]),
        (b"Data: x\n\ndata : y\n\n", []),
        (b"data: cut off", []),
        (b"data: cut off\n", []),
        (b"", []),
    ],
)
def test_the_rules_of_the_standard(body: bytes, expected: list[Event]) -> None:
    assert read(body) == expected
    assert list(events(bytes([byte]) for byte in body)) == expected


@pytest.mark.parametrize(
    "value, expected", [("100", 100), ("+1", None), ("1e3", None), ("٣", None), ("9" * 5000, None)]
)
def test_a_reconnection_time_is_ascii_digits(value: str, expected: int | None) -> None:
    parser = EventStream()
    assert parser.feed(f"retry: {value}\n".encode()) == []
    assert parser.retry_ms == expected


@given(body=bodies, cuts=st.lists(st.integers(0, 200), max_size=12))
@example(body=b"data: a\r\n\r\ndata: b\r\n\r\n", cuts=[8, 10])
@example(body=b"\xef\xbb\xbfdata: \xe2\x82\xac\n\n", cuts=[1, 2, 10])
def test_chunk_borders_change_nothing(body: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    chunks = [body[start:end] for start, end in pairwise(edges)]
    assert list(events(chunks)) == read(body)


@given(body=bodies)
def test_a_reading_of_the_whole_text_agrees(body: bytes) -> None:
    assert read(body) == by_the_letter(body)


@given(body=bodies)
def test_httpx_sse_agrees_on_every_event_with_data(body: bytes) -> None:
    """It also reports blocks without data, and skips no byte order mark: neither is compared."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    lines, decoder = SSELineDecoder(), SSEDecoder()
    complete = [*lines.decode(text), *lines.flush()]
    found: list[httpx_sse.ServerSentEvent] = []
    seen_data = False
    for line in complete:
        seen_data = seen_data or line == "data" or line.startswith("data:")
        event = decoder.decode(line)
        if event is not None and seen_data:
            found.append(event)
        seen_data = seen_data and line != ""
    assert [(event.type, event.data, event.id) for event in read(body)] == [
        (event.event or "message", event.data, event.id) for event in found
    ]


def by_the_letter(body: bytes) -> list[Event]:
    """The standard's algorithm over the decoded whole, without a thought for chunks."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    found, kind, data, last_id = [], "", "", ""
    for line in re.split("\r\n|\n|\r", text)[:-1]:
        name, _, value = line.partition(":")
        value = value[1:] if value[:1] == " " else value
        if line == "":
            if data:
                found.append(Event(kind or "message", data[:-1], last_id))
            kind = data = ""
        elif name == "data":
            data += value + "\n"
        elif name == "event":
            kind = value
        elif name == "id" and "\0" not in value:
            last_id = value
    return found
