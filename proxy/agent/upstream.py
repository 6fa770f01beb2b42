"""The proxy that the user had already set: where the recorder itself must go out, and what goes out directly.

Pure. The rules are those that curl, Python and Go share: the lower-case variable wins, a scheme may be
missing, and NO_PROXY is a comma-separated list of `*`, host names (which cover their subdomains), addresses,
networks and `host:port`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network


@dataclass(frozen=True, slots=True)
class UpstreamProxy:
    """The user's own way out: URLs such as `http://user:password@proxy:3128`, or None for direct."""

    http: str | None = None
    https: str | None = None
    no_proxy: tuple[str, ...] = ()

    def route(self, scheme: str, host: str, port: int) -> str | None:
        """The proxy for a request to `scheme://host:port`, or None when it goes out directly."""
        proxy = self.https if scheme in {"https", "wss"} else self.http
        if proxy is None or any(_covers(entry, host.strip("[]").lower(), port) for entry in self.no_proxy):
            return None
        return proxy


def upstream_proxy(base: Mapping[str, str]) -> UpstreamProxy:
    """The user's own proxy settings as they stand in `base`, before `agent_environment` replaces them."""
    every = _setting(base, "all_proxy")
    no_proxy = (_setting(base, "no_proxy") or "").replace(" ", ",").lower()
    return UpstreamProxy(
        http=_with_scheme(_setting(base, "http_proxy") or every),
        https=_with_scheme(_setting(base, "https_proxy") or every),
        no_proxy=tuple(filter(None, no_proxy.split(","))),
    )


def _setting(base: Mapping[str, str], name: str) -> str | None:
    return base.get(name) or base.get(name.upper()) or None


def _with_scheme(proxy: str | None) -> str | None:
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether one NO_PROXY entry covers a host; an address only ever equals, or lies inside a network."""
    if entry == "*":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        name, _, entry_port = entry.partition(":")
        name = name.removeprefix("*").removeprefix(".")
        return (host == name or host.endswith(f".{name}")) and entry_port in {"", str(port)}
    return _covers_address(entry, str(address), port)


def _covers_address(entry: str, address: str, port: int) -> bool:
    bare, separator, entry_port = entry.rpartition(":")
    if separator and entry_port.isdecimal() and (bare.startswith("[") or ":" not in bare):
        if entry_port != str(port):
            return False
        entry = bare
    try:
        network = ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return False
    return ip_address(address) in network
