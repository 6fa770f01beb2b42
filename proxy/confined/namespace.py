"""A namespace of our own whose only network is lo, where every address of the world leads back to us.

Linux only, without root (user_namespaces(7), network_namespaces(7)). The process that enters stays in it, and so
does all that it starts:

- A route of type `local` sends every IPv4 and IPv6 address to lo. Nothing answers there, so a connection is
  refused at once, and `proxy.confined.watch` sees where it was meant to go.
- Sockets of services that would act outside on a program's behalf (name resolution, containers, the service
  manager) are covered: a socket with a path does not belong to the network namespace.
"""

import errno
import fcntl
import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

from proxy.confined import kernel

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_NETLINK_ROUTE, _RTM_NEWROUTE, _NLMSG_ERROR = 0, 24, 2
_NLM_F_REQUEST_ACK_EXCL_CREATE = 0x1 | 0x4 | 0x200 | 0x400
_RT_TABLE_LOCAL, _RTPROT_STATIC, _RT_SCOPE_HOST, _RTN_LOCAL = 255, 4, 254, 2
_RTA_OIF, _RTA_PREFSRC = 4, 7
_NO_IPV6 = {errno.EAFNOSUPPORT, errno.EOPNOTSUPP, errno.EACCES, errno.ENETDOWN, errno.EINVAL}

_SERVICE_SOCKETS = (
    "systemd/resolve/io.systemd.Resolve",
    "systemd/private",
    "nscd/socket",
    "avahi-daemon/socket",
    "dbus/system_bus_socket",
    "bus",
    "docker.sock",
    "containerd/containerd.sock",
    "podman/podman.sock",
)


def make() -> None:
    """Moves this process, which must have one thread, into new user, network and mount namespaces.

    The user and group stay what they are; other users' files look as if nobody's. Raises OSError when the system
    refuses.
    """
    user, group = os.geteuid(), os.getegid()
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET | os.CLONE_NEWNS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def lead_everything_home() -> None:
    """Raises lo and routes every address to it. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = bytearray(struct.pack("16sH22x", b"lo", 0))
        fcntl.ioctl(control, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("H", request, 16)
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | _IFF_UP))
    _add_local_route(socket.AF_INET, socket.inet_pton(socket.AF_INET, "127.0.0.1"))
    try:
        _add_local_route(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, "::1"))
    except OSError as error:
        if error.errno not in _NO_IPV6:  # without IPv6 there is no way out over IPv6 either
            raise


def cover_service_sockets(environment: Mapping[str, str]) -> None:
    """Puts /dev/null over the sockets of services that act outside, seen only from inside. Raises OSError."""
    runtime = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    folders = {Path(folder).resolve() for folder in ("/run", "/var/run", runtime)}
    for path in sorted(folder / name for folder in folders for name in _SERVICE_SOCKETS):
        if path.is_socket():
            kernel.bind(Path("/dev/null"), path)


def _add_local_route(family: int, source: bytes) -> None:
    """`ip route add local default dev lo src SOURCE`, as one rtnetlink message (rtnetlink(7), RTM_NEWROUTE)."""
    lo = socket.if_nametoindex("lo")
    body = struct.pack("=BBBBBBBBI", family, 0, 0, 0, _RT_TABLE_LOCAL, _RTPROT_STATIC, _RT_SCOPE_HOST, _RTN_LOCAL, 0)
    body += struct.pack("=HHI", 8, _RTA_OIF, lo) + struct.pack("=HH", 4 + len(source), _RTA_PREFSRC) + source
    header = struct.pack("=IHHII", 16 + len(body), _RTM_NEWROUTE, _NLM_F_REQUEST_ACK_EXCL_CREATE, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE) as netlink:
        netlink.sendall(header + body)
        answer = netlink.recv(4096)
    (kind,) = struct.unpack_from("=H", answer, 4)
    (code,) = struct.unpack_from("=i", answer, 16)
    if kind == _NLMSG_ERROR and code != 0:
        raise OSError(-code, f"route to lo: {os.strerror(-code)}")
