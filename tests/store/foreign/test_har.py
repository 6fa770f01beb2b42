"""HAR files of browsers and of mitmproxy, read as exchanges; what was cut is told from what is whole."""

import json
from typing import Any, cast

import pytest

from store.foreign import sniff
from store.foreign.recording import Answer, Failure, NotForeign, Recording


def entry(at: str = "2026-01-01T00:00:00.000Z", **more: object) -> dict[str, Any]:
    """An entry; `request` and `response` members are put over the usual ones."""
    request = {"method": "POST", "url": "https://a.example/x?q=1", "headers": [], "httpVersion": "h2"}
    content = {"size": 2, "mimeType": "application/json", "text": "{}"}
    response = {"status": 200, "statusText": "OK", "headers": [], "httpVersion": "h2", "content": content}
    made = {"startedDateTime": at, "timings": {"wait": 12.5, "receive": 3}}
    return {
        **made,
        **{name: value for name, value in more.items() if name.startswith("_")},
        "request": request | cast("dict[str, Any]", more.get("request", {})),
        "response": response | cast("dict[str, Any]", more.get("response", {})),
    }


def read(*entries: dict[str, Any], tool: str = "WebInspector") -> Recording:
    log = {"version": "1.2", "creator": {"name": tool, "version": "1"}, "entries": list(entries)}
    return sniff.read(b"\xef\xbb\xbf" + json.dumps({"log": log}).encode())


def answer(found: Recording) -> Answer:
    outcome = found.exchanges[0].outcome
    assert isinstance(outcome, Answer)
    return outcome


def content(text: str | None, size: int, **more: object) -> dict[str, Any]:
    said = {"size": size, "mimeType": "application/json", **more}
    return {"response": {"content": said if text is None else said | {"text": text}}}


def test_exchanges_come_in_the_order_in_which_they_began_with_their_times() -> None:
    late, early = entry("2026-01-02T00:00:00Z"), entry("2026-01-01T00:00:00Z", request={"method": "GET"})
    found = read(late, early)
    assert [each.asked.endpoint.method for each in found.exchanges] == ["GET", "POST"]
    assert found.origin.began == "2026-01-01T00:00:00Z"
    assert (answer(found).first_byte_us, answer(found).total_us) == (12_000, 15_000)
    assert found.sentences() == []


def test_pseudo_headers_go_and_joined_fields_are_parted() -> None:
    sent = [{"name": ":authority", "value": "a.example"}, {"name": "accept", "value": "*/*"}]
    got = [{"name": "set-cookie", "value": "a=1\nb=2"}, {"name": "content-encoding", "value": "br"}]
    found = read(entry(request={"headers": sent}, response={"headers": got}))
    assert found.exchanges[0].asked.headers == ((b"accept", b"*/*"),)
    assert answer(found).headers[:2] == ((b"set-cookie", b"a=1"), (b"set-cookie", b"b=2"))
    assert answer(found).decoded


@pytest.mark.parametrize(
    "made, tool, body, missing",
    [
        (content("{}", 2), "Chrome", b"{}", None),
        (content("{}", 900), "Chrome", b"{}", 900),
        (content(None, 900), "Chrome", b"", 900),
        (content("e30=", 2, encoding="base64"), "Chrome", b"{}", None),
        (content("é", 1, mimeType="text/plain; charset=iso-8859-1"), "Chrome", b"\xe9", None),
        (content("text", 7), "Chrome", b"text", None),  # a byte order mark is left out of the text
        (content("decoded", 40, compression=-33), "mitmproxy", b"decoded", None),
        (content("d", 40, compression=-33), "mitmproxy", b"d", 7),
    ],
)
def test_a_text_shorter_than_its_size_was_cut(
    made: dict[str, Any], tool: str, body: bytes, missing: int | None
) -> None:
    found = read(entry(**made), tool=tool)
    assert (answer(found).body, answer(found).missing_bytes) == (body, missing)
    assert bool(found.sentences()) == (missing is not None)


def test_a_request_body_is_text_or_the_fields_of_a_form() -> None:
    text = {"mimeType": "application/json", "text": '{"a":"é"}'}
    form = {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "1&2"}]}
    found = read(*(entry(request={"postData": posted}) for posted in (text, form)), entry(request={"bodySize": 9}))
    assert [each.asked.body for each in found.exchanges] == ['{"a":"é"}'.encode(), b"a+b=1%262", b""]
    assert found.losses["no_request_body"] == 1


def test_a_browser_that_keeps_no_upload_tells_its_length_in_the_header() -> None:
    sent = [{"name": "Content-Length", "value": "292"}, {"name": "Content-Type", "value": "multipart/form-data"}]
    found = read(entry(request={"headers": sent, "bodySize": 0}), entry(request={"bodySize": 0}))
    assert [each.missing_bytes for each in found.exchanges] == [292, None]
    assert found.losses["no_request_body"] == 1


def test_a_request_that_failed_is_a_failure_and_a_socket_is_left_out() -> None:
    failed = entry(response={"status": 0, "_error": "net::ERR_NAME_NOT_RESOLVED"})
    ended = entry(response={"status": -1, "_failureText": "net::ERR_EMPTY_RESPONSE"})  # as Playwright writes it
    found = read(
        failed,
        ended,
        entry(_resourceType="websocket"),
        entry(request={"url": "data:,x"}),
        entry(response={"status": 0}),
    )
    assert [each.outcome for each in found.exchanges] == [
        Failure("dns", "net::ERR_NAME_NOT_RESOLVED"),
        Failure("closed", "net::ERR_EMPTY_RESPONSE"),
    ]
    assert [found.losses[loss] for loss in ("messages", "not_http", "no_outcome")] == [1, 1, 1]


def test_a_har_without_entries_is_refused() -> None:
    with pytest.raises(NotForeign):
        sniff.read(b'{"log": {"entries": 3}}')
