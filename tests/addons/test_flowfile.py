"""Flow files of mitmproxy, read byte for byte."""

import gzip
import io

import pytest
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


def test_failures_missing_bodies_and_sockets_are_told() -> None:
    failed = tflow.tflow(err=Error("connect call failed"))
    emptied = tflow.tflow(resp=tutils.tresp(content=None, headers=Headers([(b"content-length", b"7")])))
    found = flowfile.recording(saved(failed, emptied, tflow.twebsocketflow(), tflow.ttcpflow()))
    outcomes = [each.outcome for each in found.exchanges]
    assert Failure("connect", "connect call failed") in outcomes
    missing = [each.missing_bytes for each in outcomes if isinstance(each, Answer)]
    assert missing == [7]
    assert (found.losses["messages"], found.losses["not_http"], found.losses["no_answer_body"]) == (1, 1, 1)


@pytest.mark.parametrize("content", [b"12:broken", b"5:hello,", b"999999999:" + b"x" * 100])
def test_a_damaged_flow_file_is_refused_with_a_sentence(content: bytes) -> None:
    with pytest.raises(NotForeign):
        flowfile.recording(content)
