"""The way out: directly, or through the proxy that the user had set before us.

Rules kept here:
- HTTPS goes through CONNECT, plain HTTP in absolute form, as proxies expect it (RFC 9112, section 3.2).
- What the agent's own processes answer never takes that way.
- An upgrade to HTTP/2 without TLS, which we could only tunnel, is not asked for (RFC 9110, section 7.8, allows that).
"""

from mitmproxy.http import Headers, HTTPFlow

from addons.keeping import ANSWERED, Keeping, watched
from addons.run_tag import INSIDE
from addons.tunnel import PASSED
from store.egress import Proxy, Route

_AUTHORIZATION = "Proxy-Authorization"


class Chain:
    """Sends each request its way."""

    def __init__(self, keeping: Keeping, route: Route) -> None:
        self.keeping = keeping
        self._route = route
        self._authorizations: dict[tuple[str, int], bytes] = {}

    def goes_by(self, address: tuple[str, int]) -> bool:
        """Whether an address is that of a proxy on somebody's way."""
        return address in self._authorizations

    @watched
    async def http_connect(self, flow: HTTPFlow) -> None:
        """The way of all that comes inside a CONNECT."""
        if ANSWERED not in flow.metadata and PASSED not in flow.metadata:
            proxy = self._proxy("https", flow)
            if proxy is not None:
                flow.server_conn.via = (proxy.scheme, (proxy.host, proxy.port))

    @watched
    async def requestheaders(self, flow: HTTPFlow) -> None:
        """The way of a plain request."""
        _drop_h2c(flow.request.headers)
        if ANSWERED in flow.metadata or PASSED in flow.metadata or flow.metadata[INSIDE] or not flow.request.host:
            return
        proxy = self._proxy("http", flow)
        if proxy is None:
            return
        if proxy.scheme == "https":
            flow.server_conn.via = (proxy.scheme, (proxy.host, proxy.port))
            return
        sent = flow.request.data  # setting the properties instead would rewrite the Host header
        host = f"[{sent.host}]" if ":" in sent.host else sent.host
        sent.authority = host.encode("idna") + (b"" if sent.port == 80 else b":%d" % sent.port)
        sent.host, sent.port = proxy.host, proxy.port
        if proxy.authorization:
            flow.request.headers[_AUTHORIZATION] = proxy.authorization

    def http_connect_upstream(self, flow: HTTPFlow) -> None:
        """Our own CONNECT to the proxy."""
        address = flow.server_conn.address
        authorization = self._authorizations.get(address) if address else None
        if authorization:
            flow.request.headers[_AUTHORIZATION] = authorization

    def _proxy(self, scheme: str, flow: HTTPFlow) -> Proxy | None:
        url = self._route(scheme, flow.request.host, flow.request.port)
        if url is None:
            return None
        proxy = Proxy.parse(url)
        self._authorizations[proxy.host, proxy.port] = proxy.authorization
        return proxy


def _drop_h2c(headers: Headers) -> None:
    if "h2c" not in headers.get("upgrade", "").lower():
        return
    kept = [token.strip() for token in headers.get("connection", "").split(",")]
    kept = [token for token in kept if token and token.lower() not in ("upgrade", "http2-settings")]
    gone = {b"upgrade", b"http2-settings", b"connection"}
    headers.fields = tuple(pair for pair in headers.fields if pair[0].lower() not in gone)
    if kept:
        headers["Connection"] = ", ".join(kept)
