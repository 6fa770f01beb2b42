"""Addresses at which a cloud hands out credentials to whoever asks from the machine. Pure.

An agent that can be talked into fetching a URL must not fetch them through a recorder that stands nearer than itself.
"""

import ipaddress
from functools import lru_cache

_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.0.0/16",  # link-local (RFC 3927): AWS, Azure, Google, Oracle, DigitalOcean, and ECS' and EKS' own
        "fe80::/10",
        "fd00:ec2::/32",  # AWS
        "fd20:ce::254/128",  # Google
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle
    )
)
# What holds an IPv4 address in its last four bytes: NAT64 (RFC 6052, 8215), and what RFC 4291 calls compatible.
_WRAPPING = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")))
_NAMES = ("metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal")


@lru_cache(maxsize=1024)
def is_metadata(host: str) -> bool:
    """Whether a name or address is one of these, however the address is wrapped (RFC 4291, 3056, 6052, 8215)."""
    name = host.strip("[]").rstrip(".").lower().partition("%")[0]
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name in _NAMES
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or None
        if inner is None and any(address in network for network in _WRAPPING):
            inner = _low(address)
        if inner is not None and is_metadata(str(inner)):
            return True
    return any(address in network for network in _NETWORKS)


def _low(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
