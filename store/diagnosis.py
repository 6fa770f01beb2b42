"""Which socket is one end of a TCP connection of this machine, asked of the kernel (sock_diag(7)).

The table of /proc/net says it too, but is written out whole for every question: some milliseconds of it.
"""

import contextlib
import errno
import socket
import struct
import sys
from collections.abc import Iterator

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_ANY_STATE = 0xFFFFFFFF
_NO_COOKIE = b"\xff" * 8  # INET_DIAG_NOCOOKIE, twice
_ANSWER_BYTES_MAX = 4096
_NLMSG_ERROR = 2
_HEADER_BYTES = 16
_PORTS_AT, _INODE_AT = 4, 68  # in struct inet_diag_msg
_ENDS = (
    (socket.AF_INET, socket.inet_pton(socket.AF_INET, "127.0.0.1").ljust(16, b"\0")),
    (socket.AF_INET6, socket.inet_pton(socket.AF_INET6, "::1")),
    (socket.AF_INET6, socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1")),
)


def inodes(port: int, to_port: int) -> set[str]:
    """The inodes of what goes from `port` to `to_port` between loopback addresses; none where nobody can be asked."""
    found = set[str]()
    if sys.platform != "linux":
        return found
    with contextlib.suppress(OSError, struct.error):
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
        with socket.socket(socket.AF_NETLINK, kind, _NETLINK_SOCK_DIAG) as asked:
            asked.settimeout(1)
            for family, address in _ENDS:
                asked.sendall(_question(family, address, port, to_port))
                found.update(_inode(asked.recv(_ANSWER_BYTES_MAX), (port, to_port)))
    return found


def _question(family: int, address: bytes, port: int, to_port: int) -> bytes:
    """One inet_diag_req_v2 for the socket with exactly these ends."""
    ends = struct.pack("!HH", port, to_port) + address + address + struct.pack("=I", 0) + _NO_COOKIE
    body = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, _ANY_STATE) + ends
    return struct.pack("=IHHII", _HEADER_BYTES + len(body), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0) + body


def _inode(answer: bytes, ports: tuple[int, int]) -> Iterator[str]:
    """The inode that an answer tells, if there is such a socket. Raises OSError."""
    (kind,) = struct.unpack_from("=H", answer, 4)
    if kind == _NLMSG_ERROR:
        (code,) = struct.unpack_from("=i", answer, _HEADER_BYTES)
        if code != -errno.ENOENT:
            raise OSError(-code, "the kernel does not say whose a connection is")
    elif struct.unpack_from("!HH", answer, _HEADER_BYTES + _PORTS_AT) == ports:  # else it is who listens there
        yield str(struct.unpack_from("=I", answer, _HEADER_BYTES + _INODE_AT)[0])
