"""What mitmproxy knows of an exchange, as the values that the store drafts events from (`store.drafting.seen`).

Only raw content is read, never `.content` or `.text`: those decode.
"""

import time
from functools import lru_cache

from mitmproxy.certs import Cert
from mitmproxy.connection import Server
from mitmproxy.http import HTTPFlow, Response

from addons.flows import Live
from addons.interim import interim
from store.core.model import Ended, ErrorKind, Framing
from store.core.websocket import By
from store.drafting import seen
from store.drafting.seen import STATUS_MAX

_TLS = "edgetape_tls"  # among the members of a Server: what is said of its TLS, which stays as it is


def request(live: Live, body: bytes, *, streaming: bool = False) -> seen.Request:
    """The request as the agent sent it, without the headers that were for us."""
    sent = live.flow.request.data
    return seen.Request(
        method=sent.method,
        scheme=live.scheme,
        host=raw(live.host),
        port=live.port,
        path=sent.path,
        version=sent.http_version,
        fields=live.fields,
        streaming=streaming,
        body=seen.Body(body) if body else seen.NOTHING,
    )


def upload(live: Live, ended: Ended) -> seen.Upload:
    """The whole of an upload that was not held."""
    trailers, tee = live.flow.request.trailers, live.upload
    return seen.Upload(
        ended=ended,
        trailers=trailers.fields if trailers else (),
        body=tee.body() if tee is not None else seen.Body(live.flow.request.raw_content or b""),
    )


def head(flow: HTTPFlow, response: Response) -> seen.Head:
    """Status line and headers of an answer."""
    return seen.Head(
        status=min(response.status_code, STATUS_MAX),
        reason=response.data.reason,
        version=response.data.http_version,
        fields=response.headers.fields,
        framing=framing(flow, response),
    )


def answer(live: Live, response: Response, ended: Ended) -> seen.Answer:
    """The answer, as far as it came."""
    now, server = time.monotonic_ns(), live.flow.server_conn
    streamed = live.answer is not None and live.answer.seen_bytes
    return seen.Answer(
        head=head(live.flow, response),
        ended=ended,
        trailers=response.trailers.fields if response.trailers else (),
        interim=tuple(interim(live.flow.request)),
        upstream=_endpoint(server),
        tls=_tls(server),
        first_byte_us=max(0, live.first_byte_ns - live.handed_ns) // 1000,
        total_us=(now - live.handed_ns) // 1000,
        body=live.answer.body() if live.answer and streamed else seen.Body(response.raw_content or b""),
    )


def failure(live: Live, kind: ErrorKind, detail: str) -> seen.Failure:
    """No status line arrived."""
    since = live.handed_ns or live.began_ns
    return seen.Failure(kind=kind, detail=raw(detail), total_us=(time.monotonic_ns() - since) // 1000)


def goodbye(code: int, reason: str, by_client: bool | None) -> seen.Goodbye:
    """The end of a WebSocket."""
    by: By = "unknown" if by_client is None else "client" if by_client else "server"
    return seen.Goodbye(code=code, reason=raw(reason), by=by)


def framing(flow: HTTPFlow, response: Response) -> Framing:
    """How the end of an answer's body is told (RFC 9112, section 6.3; RFC 9113 has frames)."""
    if response.is_http2:
        return "frames"
    if flow.request.method.upper() == "HEAD" or response.status_code in (204, 304) or response.status_code < 200:
        return "none"
    if "chunked" in response.headers.get("transfer-encoding", "").lower():
        return "chunked"
    return "length" if "content-length" in response.headers else "close"


def raw(text: str) -> bytes:
    """The bytes that a text of mitmproxy's was made of."""
    return text.encode("utf-8", "surrogateescape")


def _endpoint(server: Server) -> str | None:
    if server.peername is None:
        return None
    host, port, *_ = server.peername
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _tls(server: Server) -> str | None:
    """Version, cipher, application protocol and certificate of the server, as far as TLS was spoken with it."""
    if not server.tls_established:
        return None
    known = vars(server).get(_TLS)
    if known is None:
        known = vars(server)[_TLS] = _told(server)
    return str(known)


def _told(server: Server) -> str:
    said = [str(server.tls_version), str(server.cipher)]
    if server.alpn:
        said.append(f"alpn={server.alpn.decode('latin-1')}")
    if server.certificate_list:
        said.append(f"certificate=sha256:{_fingerprint(server.certificate_list[0])}")
    return " ".join(said)


@lru_cache
def _fingerprint(certificate: Cert) -> str:
    return certificate.fingerprint().hex()
