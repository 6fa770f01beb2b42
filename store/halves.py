"""Whether an agent that has sent the end of its connection still listens on it.

An end (FIN) comes of one that has left as well as of one that has only no more to say; nothing on the wire tells them
apart. On this machine the kernel does: the end of one that has left belongs to nobody. Elsewhere such an agent counts
as gone, which lets go of its server at once.
"""

import ipaddress
import sys
from pathlib import Path

type Address = tuple[str, int] | tuple[str, int, int, int]
"""As a socket gives it, of IPv4 or IPv6."""

# include/net/tcp_states.h: FIN_WAIT1, FIN_WAIT2. The table is that of proc(5), /proc/net/tcp.
_HALF_CLOSED = ("04", "05")
_NOBODY = "0"


def still_listens(peername: Address | None, sockname: Address | None) -> bool:
    """Whether a process still holds the other end, `peername`, of a connection, which was closed for writing there."""
    if not peername or not sockname:
        return False
    theirs, ours = _place(peername), _place(sockname)
    for name in ("tcp", "tcp6"):
        try:
            rows = (Path("/proc/net") / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            _, local, remote, state, *_rest = row.split()
            if (local, remote) == (theirs, ours):
                return state in _HALF_CLOSED and row.split()[9] != _NOBODY
    return False


def _place(address: Address) -> str:
    """An address as /proc/net/tcp spells it: words of the machine's own byte order in hexadecimal digits."""
    packed = ipaddress.ip_address(address[0].partition("%")[0]).packed
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{address[1]:04X}"
