"""The same exchanges as other recorders write them, each by its own writer: vcrpy's YAML, mitmproxy's flows, HAR."""

import gzip
import io
import json
from collections.abc import Callable

import zstandard
from mitmproxy import http
from mitmproxy.addons.savehar import SaveHar
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow
from vcr.request import Request  # type: ignore[import-untyped, unused-ignore]  # ships no types
from vcr.serialize import serialize  # type: ignore[import-untyped, unused-ignore]
from vcr.serializers import yamlserializer  # type: ignore[import-untyped, unused-ignore]

from bench.traffic import Run

_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3


def vcrpy(run: Run) -> bytes:
    """A cassette of vcrpy."""
    requests, responses = [], []
    for exchange in run.exchanges:
        request, answer = exchange.bodies
        requests.append(Request(exchange.method, exchange.url, request, dict(exchange.request_headers)))
        headers: dict[str, list[str]] = {}
        for name, value in exchange.response_headers:
            headers.setdefault(name, []).append(value)
        status = {"code": exchange.status, "message": "OK"}
        responses.append({"status": status, "headers": headers, "body": {"string": answer}})
    return str(serialize({"requests": requests, "responses": responses}, yamlserializer)).encode()


def mitmproxy(run: Run) -> bytes:
    """A file of mitmproxy's flows."""
    file = io.BytesIO()
    writer = FlowWriter(file)  # type: ignore[no-untyped-call]
    for flow in _flows(run):
        writer.add(flow)
    return file.getvalue()


def har(run: Run) -> bytes:
    """A HAR file, as mitmproxy saves one."""
    return json.dumps(SaveHar().make_har(_flows(run)), indent=4).encode()


WRITERS: dict[str, Callable[[Run], bytes]] = {"vcrpy": vcrpy, "mitmproxy": mitmproxy, "HAR": har}


def gzipped(content: bytes) -> int:
    """The length of `content` in gzip."""
    return len(gzip.compress(content, _GZIP_LEVEL))


def zstandarded(content: bytes) -> int:
    """The length of `content` in zstd, as its command line does it unasked."""
    return len(zstandard.compress(content, _ZSTD_LEVEL))


def _flows(run: Run) -> list[http.HTTPFlow]:
    flows = []
    for exchange in run.exchanges:
        request, answer = exchange.bodies
        flow = tflow.tflow(
            req=http.Request.make(exchange.method, exchange.url, request, _fields(exchange.request_headers)),
            resp=http.Response.make(exchange.status, answer, _fields(exchange.response_headers)),
        )
        flow.request.timestamp_start = exchange.t
        flows.append(flow)
    return flows


def _fields(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers]
