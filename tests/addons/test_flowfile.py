"""Flow files of mitmproxy, read byte for byte."""

import gzip
import io
import json

import pytest
from mitmproxy.addons.savehar import SaveHar
from mitmproxy.flow import Error, Flow
from mitmproxy.http import Headers
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow, tutils

from addons import flowfile
from store.foreign import sniff
from store.foreign.recording import Answer, Failure, NotForeign


def saved(*flows: Flow) -> bytes:
    file = io.BytesIO()
    writer = FlowWriter(file)  # type: ignore[no-untyped-call]
    for flow in flows:
        writer.add(flow)
    return file.getvalue()


def test_an_exchange_is_read_as_it_crossed_the_wire() -> None:
    packed = gzip.compress(b"answer")
    headers = Headers([(b"Content-Encoding", b"gzip"), (b"X-Twice", b"1"), (b"x-twice", b"2")])
    request = tutils.treq(method=b"POST", path=b"/a%20b?c=d", content=b"asked")
    flow = tflow.tflow(req=request, resp=tutils.tresp(headers=headers, content=packed))
    content = saved(flow)
    assert sniff.kind(content) == "flows"
    exchange = flowfile.recording(content).exchanges[0]
    place = exchange.asked.endpoint
    assert (place.method, place.path, exchange.asked.query) == ("POST", b"/a%20b", b"c=d")
    assert exchange.asked.body == b"asked"
    assert isinstance(exchange.outcome, Answer)
    assert (exchange.outcome.body, exchange.outcome.decoded) == (packed, False)
    assert exchange.outcome.headers == headers.fields


def test_failures_missing_bodies_and_messages_are_told() -> None:
    failed = tflow.tflow(err=Error("connect call failed"))
    emptied = tflow.tflow(resp=tutils.tresp(content=None, headers=Headers([(b"content-length", b"7")])))
    found = flowfile.recording(saved(failed, emptied, tflow.twebsocketflow(), tflow.ttcpflow()))
    outcomes = [each.outcome for each in found.exchanges]
    assert Failure("connect", "connect call failed") in outcomes
    missing = [each.missing_bytes for each in outcomes if isinstance(each, Answer)]
    assert sorted(missing, key=str) == [7, None]
    assert (found.losses["not_http"], found.losses["no_answer_body"]) == (1, 1)
    spoken = next(each for each in found.exchanges if each.messages)
    assert [(each.content, each.from_client, each.is_text) for each in spoken.messages] == [
        (b"hello binary", True, False),
        (b"hello text", True, True),
        (b"it's me", False, True),
    ]
    assert spoken.goodbye is not None


def test_what_mitmproxy_exports_as_har_is_the_same() -> None:
    request = tutils.treq(method=b"POST", path=b"/a?b=c", content=b'{"n":1}')
    packed = tutils.tresp(headers=Headers([(b"Content-Encoding", b"gzip")]), content=gzip.compress(b"answer"))
    flows = [tflow.tflow(req=request, resp=packed), tflow.twebsocketflow(), tflow.tflow(err=Error("reset"))]
    har = sniff.read(json.dumps(SaveHar().make_har(flows)).encode())
    assert [each.asked.body for each in har.exchanges] == [b'{"n":1}', b"", b""]
    assert har.losses["no_request_body"] == 1
    answer = har.exchanges[0].outcome
    assert isinstance(answer, Answer)
    assert (answer.body, answer.decoded, answer.missing_bytes) == (b"answer", True, None)
    assert [len(each.messages) for each in har.exchanges] == [0, 3, 0]
    assert isinstance(har.exchanges[2].outcome, Failure)


@pytest.mark.parametrize("content", [b"12:broken", b"5:hello,", b"999999999:" + b"x" * 100])
def test_a_damaged_flow_file_is_refused_with_a_sentence(content: bytes) -> None:
    with pytest.raises(NotForeign):
        flowfile.recording(content)
