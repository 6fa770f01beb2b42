"""Opens a connection to a real server: directly, or through the proxy that the user had set."""

import socket
from collections.abc import Mapping

from proxy.agent.upstream import upstream_proxy
from store.egress import Proxy, Route, Unreached, UnusableProxy

CONNECT_S_MAX = 20.0
_HEAD_BYTES_MAX = 64 * 1024


def dial(host: str, port: int, via: str | None) -> socket.socket:
    """A connected socket; `via` is the URL of a proxy, None for the direct way. Blocks. Raises Unreached."""
    if via is None:
        return _connected(host, port)
    try:
        proxy = Proxy.parse(via)
    except UnusableProxy as error:
        raise Unreached("connect", str(error)) from error
    if proxy.scheme == "https":
        raise Unreached("connect", "a fork cannot go through an https:// proxy")
    connection = _connected(proxy.host, proxy.port)
    try:
        _ask_for_tunnel(connection, host, port, proxy.authorization)
    except (OSError, Unreached) as error:
        connection.close()
        if isinstance(error, Unreached):
            raise
        raise Unreached("connect", f"the proxy broke off: {error}") from error
    return connection


def route_of(environment: Mapping[str, str]) -> Route:
    """The user's own way out, as the environment names it."""
    return upstream_proxy(environment).route


def _connected(host: str, port: int) -> socket.socket:
    try:
        return socket.create_connection((host, port), CONNECT_S_MAX)
    except socket.gaierror as error:
        raise Unreached("dns", f"{host} cannot be resolved: {error.strerror}") from error
    except TimeoutError as error:
        raise Unreached("connect", f"{host} port {port} does not answer") from error
    except OSError as error:
        raise Unreached("connect", f"{host} port {port} cannot be reached: {error.strerror or error}") from error


def _ask_for_tunnel(connection: socket.socket, host: str, port: int, authorization: bytes) -> None:
    """RFC 9110, section 9.3.6. The server speaks only once it is spoken to, so nothing follows the head."""
    place = (f"[{host}]" if ":" in host else host).encode("idna") + b":%d" % port
    field = b"Proxy-Authorization: %s\r\n" % authorization if authorization else b""
    connection.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (place, place, field))
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = connection.recv(1)
        if not piece or len(head) > _HEAD_BYTES_MAX:
            raise Unreached("connect", "the proxy broke off")
        head += piece
    status = head.split(b" ", 2)[1:2]
    if not status or not status[0].startswith(b"2"):
        raise Unreached("connect", f"the proxy refused: {head.partition(b'\r\n')[0].decode('latin-1')}")
