"""Makes Python's HTTP clients that ignore HTTPS_PROXY go through it.

Written for any Python from 3.8 on, with nothing but its own library. Rules:

- A client is changed when the program imports it, never before: a program that does not use it pays nothing.
- Only what would go straight out is changed: a proxy, a socket or a connector that a program chose is left alone.
- A client that has another shape than is known here stays as it is; no error of ours reaches the program.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing's own costs every Python some milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from socket import socket
    from types import ModuleType
    from typing import Any


class _Way:
    """The way out: our proxy, as HTTPS_PROXY names it, the hosts that go past it, and the roots to trust."""

    def __init__(self, url: str, excluded: str, roots: str) -> None:
        from urllib.parse import unquote, urlsplit

        parts = urlsplit(url)
        self.url = url
        self.roots = roots
        self._address = (parts.hostname or "", parts.port or 80)
        self._said = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
        entries = [entry.strip() for entry in excluded.split(",") if entry.strip()]
        self._excludes_all = "*" in entries
        self._excluded = [entry.lstrip("*").lstrip(".") for entry in entries]

    @property
    def excludes_none(self) -> bool:
        """Whether every host goes through the proxy."""
        return not self._excluded

    def is_direct(self, host: str, port: int) -> bool:
        """Whether an address is the proxy's own, or one that NO_PROXY lists."""
        if (host, port) == self._address or self._excludes_all:
            return True
        return any(host == entry or host.endswith("." + entry) for entry in self._excluded)

    def tunnel(self, host: str, port: int, timeout: object) -> socket:
        """A connection to host:port by CONNECT. Raises OSError."""
        import base64
        import socket

        given = timeout if timeout is None or isinstance(timeout, (int, float)) else socket.getdefaulttimeout()
        connection = socket.create_connection(self._address, given)
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        head = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n"
        if self._said:
            head += f"Proxy-Authorization: Basic {base64.b64encode(self._said.encode()).decode()}\r\n"
        try:
            connection.sendall(head.encode("latin-1") + b"\r\n")
            status = _answered(connection)
            if status != b"200":
                raise OSError(f"the proxy answered {status.decode('latin-1')} to CONNECT {authority}")
        except BaseException:
            connection.close()
            raise
        return connection


def _answered(connection: socket) -> bytes:
    """The status of the answer to a CONNECT; nothing behind its head is read."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = connection.recv(1)
        if not piece or len(head) > 65536:
            raise OSError("the proxy broke off its answer to CONNECT")
        head += piece
    return [*head.split(None, 2), b"", b""][1]


def _http_client(module: ModuleType, way: _Way) -> None:
    """http.client, and what connects as it does (xmlrpc.client)."""
    import socket

    original = module.HTTPConnection.connect

    def straight(address: tuple[str, int], timeout: Any = None, source_address: Any = None) -> socket.socket:
        if way.is_direct(*address):
            return socket.create_connection(address, timeout, source_address)
        return way.tunnel(*address, timeout)

    def connect(self: Any) -> object:
        if self._create_connection is socket.create_connection and not self._tunnel_host:
            self._create_connection = straight
        return original(self)

    module.HTTPConnection.connect = connect


def _urllib3(module: ModuleType, way: _Way) -> None:
    """A bare urllib3.PoolManager, and requests whose session does not look at the environment."""
    original = module.HTTPConnection._new_conn

    def _new_conn(self: Any) -> object:
        host, port = self._dns_host, self.port
        if getattr(self, "proxy", None) or self._tunnel_host or way.is_direct(host, port):
            return original(self)
        try:
            connection = way.tunnel(host, port, self.timeout)
        except OSError as error:
            raise module.NewConnectionError(self, f"Failed to establish a new connection: {error}") from error
        for option in self.socket_options or ():
            connection.setsockopt(*option)
        return connection

    module.HTTPConnection._new_conn = _new_conn


def _aiohttp(module: ModuleType, way: _Way) -> None:
    """aiohttp's sessions; not by its trust_env, which would also send what a .netrc has."""
    original = module.ClientSession._request

    async def _request(self: Any, method: str, url: object, **options: Any) -> object:
        if options.get("proxy") is None and self._default_proxy is None:
            target = self._build_url(url)
            is_socket = type(self._connector).__name__ in ("UnixConnector", "NamedPipeConnector")
            if not is_socket and target.host and not way.is_direct(target.host, target.port):
                options["proxy"] = way.url
        return await original(self, method, url, **options)

    module.ClientSession._request = _request


def _httpx(module: ModuleType, way: _Way) -> None:
    """httpx with a transport of the program's own, for which it does not look at the environment."""
    if not way.excludes_none:
        return  # a transport knows no hosts to leave out

    def patch(kind: Any) -> None:
        original = kind.__init__

        def __init__(self: object, *words: object, **options: Any) -> None:
            if not words and not options.get("uds") and options.get("proxy") is None:
                options["proxy"] = way.url
            original(self, *words, **options)

        kind.__init__ = __init__

    patch(module.HTTPTransport)
    patch(module.AsyncHTTPTransport)


def _certifi(module: ModuleType, way: _Way) -> None:
    """Clients that bring their roots along in certifi, and read no variable."""
    if not os.path.isfile(way.roots):
        return

    def where() -> str:
        return way.roots

    def contents() -> str:
        with open(way.roots, encoding="ascii", errors="replace") as file:
            return file.read()

    module.where, module.contents = where, contents  # type: ignore[attr-defined]


CLIENTS: dict[str, Callable[[ModuleType, _Way], None]] = {
    "http.client": _http_client,
    "urllib3.connection": _urllib3,
    "aiohttp.client": _aiohttp,
    "httpx._transports.default": _httpx,
    "httpx2._transports.default": _httpx,
    "certifi.core": _certifi,
}


class _Finder:
    """Stands first on sys.meta_path, and changes a module right after it was executed."""

    def __init__(self, changes: Mapping[str, Callable[[ModuleType], None]]) -> None:
        self._changes = changes

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the others find, with a loader that does one thing more."""
        if name not in self._changes:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                self._watch(name, spec.loader)
                return spec
        return None

    def change(self, name: str, module: ModuleType) -> None:
        """Changes a module, if it has the shape that is known here."""
        try:
            self._changes[name](module)
        except Exception:
            return

    def _watch(self, name: str, loader: Any) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self.change(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            return  # a loader that cannot be changed: its module stays as it is


def _client_changes(url: str, excluded: str, roots: str) -> dict[str, Callable[[ModuleType], None]]:
    def change(apply: Callable[[ModuleType, _Way], None]) -> Callable[[ModuleType], None]:
        return lambda module: apply(module, _Way(url, excluded, roots))

    return {name: change(apply) for name, apply in CLIENTS.items()}


def begin(environment: Mapping[str, str]) -> None:
    """Puts the finder in place; a module that is imported already is changed at once."""
    changes: dict[str, Callable[[ModuleType], None]] = {}
    url = environment.get("HTTPS_PROXY") or environment.get("https_proxy") or ""
    if url.startswith("http://"):
        excluded = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
        changes.update(_client_changes(url, excluded, environment.get("SSL_CERT_FILE") or ""))
    if environment.get("EDGETAPE_SEED") or "libfaketime" in environment.get("LD_PRELOAD", ""):
        import edgetapechance  # type: ignore[import-not-found]

        changes.update(edgetapechance.begin(environment))
        del sys.modules["edgetapechance"]
    if not changes:
        return
    finder = _Finder(changes)
    for name in changes:
        if name in sys.modules:
            finder.change(name, sys.modules[name])
    sys.meta_path.insert(0, finder)
