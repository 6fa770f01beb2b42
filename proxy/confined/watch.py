"""Listens on lo of our own namespace for everything that was meant to go out."""

import ctypes
import socket
import struct

from proxy.confined import packets
from proxy.confined.packets import Attempt, RefusedLocal

_SO_ATTACH_FILTER = 26
_ETH_P_ALL = 0x0003
_BUFFER_BYTES = 1 << 20  # the system may grant less; a few hundred different attempts fit in any case


class Watch:
    """A packet socket on lo (packet(7)). `fileno()` is readable when something new was seen."""

    def __init__(self) -> None:
        """Opens the socket; needs CAP_NET_RAW in the namespace at this moment only. Raises OSError."""
        self._counts: dict[Attempt, int] = {}
        self._refused: dict[int, int] = {}
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            _attach(self._socket, packets.assembled())
            # Bound only now: no packet gets in before the filter is in place.
            self._socket.bind(("lo", _ETH_P_ALL))
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._socket.fileno()

    def attempts(self) -> dict[Attempt, int]:
        """Everything that wanted out so far and how often, first seen first."""
        self._drain()
        return dict(self._counts)

    def refused_local(self) -> dict[int, int]:
        """The loopback ports that refused a connection so far and how often, first seen first."""
        self._drain()
        return dict(self._refused)

    def close(self) -> None:
        """Closes the socket; what was seen stays readable."""
        self._socket.close()

    def _drain(self) -> None:
        while self._socket.fileno() >= 0:
            try:
                packet = self._socket.recv(packets.PACKET_BYTES_MAX)
            except (BlockingIOError, InterruptedError):
                return
            seen = packets.read(packet)
            if isinstance(seen, RefusedLocal):
                self._refused[seen.port] = self._refused.get(seen.port, 0) + 1
            elif seen is not None:
                self._counts[seen] = self._counts.get(seen, 0) + 1


def _attach(packet_socket: socket.socket, program: bytes) -> None:
    """Hands a filter to the kernel as struct sock_fprog: its length in instructions, and where it lies."""
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    packet_socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, described)
