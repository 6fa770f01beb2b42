"""What a packet on lo tells about a way out: the kernel's filter that picks it, and the words for it. Pure.

A packet counts when it opens something to an address outside 127.0.0.0/8 and ::1: a TCP SYN, a UDP datagram, an
ICMP echo, any other protocol; or when it asks DNS, wherever the server is. Refusals of a loopback port are picked as
well: they name the local service that the agent misses.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Literal

DNS_PORTS = frozenset({53, 5353})
PACKET_BYTES_MAX = 2048  # what the kernel hands over of a packet: enough for any question

_OUTGOING = 4  # PACKET_OUTGOING of packet(7); on lo each packet is seen again as it arrives
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP, _UDP, _ICMP, _ICMP6 = 6, 17, 1, 58
_SYN_ACK_RST, _SYN, _RST_ACK = 0x16, 0x02, 0x14
_ECHO, _ECHO6 = 8, 128


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that wanted out: `port` is None where the protocol has none, `name` is what DNS was asked for."""

    protocol: str
    address: str
    port: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        where = self.address if self.port is None else _with_port(self.address, self.port)
        if self.name is not None:
            return f"DNS for {self.name} (asked {where})"
        return f"{self.protocol.upper()} to {where}"


@dataclass(frozen=True, slots=True)
class RefusedLocal:
    """A connection to a loopback port on which nothing listens inside."""

    port: int


def read(packet: bytes) -> Attempt | RefusedLocal | None:
    """What a picked packet, from its IP header on, tells; None when it is too short to tell anything."""
    try:
        if packet[0] >> 4 == 4:
            address = IPv4Address(packet[16:20])
            return _read_payload(address, packet[9], packet[4 * (packet[0] & 0xF) :])
        return _read_payload(IPv6Address(packet[24:40]), packet[6], packet[40:])
    except (IndexError, ValueError, struct.error):
        return None


def _read_payload(address: IPv4Address | IPv6Address, protocol: int, payload: bytes) -> Attempt | RefusedLocal | None:
    if protocol not in {_TCP, _UDP}:
        name = "icmp" if protocol in {_ICMP, _ICMP6} else f"ip protocol {protocol}"
        return Attempt(name, str(address))
    source_port, port = struct.unpack_from("!HH", payload)
    if protocol == _TCP:
        if payload[13] & _SYN_ACK_RST == _RST_ACK:
            return RefusedLocal(source_port)
        return Attempt("tcp", str(address), port)
    if port in DNS_PORTS:
        return Attempt("dns", str(address), port, question(payload[8:]))
    return Attempt("udp", str(address), port)


def question(message: bytes) -> str:
    """The first name that a DNS message asks for (RFC 1035, section 4.1.2); `?` when it holds none."""
    labels: list[str] = []
    at = 12
    while at < len(message) and 0 < message[at] < 64:
        label = message[at + 1 : at + 1 + message[at]]
        labels.append("".join(chr(byte) if 0x20 < byte < 0x7F else "?" for byte in label))
        at += 1 + message[at]
    return ".".join(labels) or "?"


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


# The filter, in the classic BPF that Linux takes (SO_ATTACH_FILTER). Offsets count from the IP header.

Load = Literal["word", "half", "byte"]
_WIDTHS: dict[Load, int] = {"word": 0x00, "half": 0x08, "byte": 0x10}
_ANCILLARY_PROTOCOL, _ANCILLARY_PACKET_TYPE = 0xFFFFF000, 0xFFFFF004


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction; labels name where it goes on when equal (`then`) or not (`otherwise`): only forward."""

    code: int
    value: int = 0
    then: str = ""
    otherwise: str = ""
    label: str = ""


def _load(width: Load, at: int, *, label: str = "", after_header: bool = False) -> Step:
    return Step((0x40 if after_header else 0x20) | _WIDTHS[width], at, label=label)


def _if(value: int, then: str = "", otherwise: str = "") -> Step:
    return Step(0x15, value, then, otherwise)


def _mask(value: int) -> Step:
    return Step(0x54, value)


_IP_HEADER_LENGTH = Step(0xB1, 0)  # X = length of the IPv4 header


def _program() -> list[Step]:
    return [
        _load("word", _ANCILLARY_PACKET_TYPE),
        _if(_OUTGOING, otherwise="drop"),
        _load("word", _ANCILLARY_PROTOCOL),
        _if(_IPV6, then="ipv6"),
        _if(_IPV4, otherwise="drop"),
        *_ipv4(),
        *_ipv6(),
        Step(0x06, 0, label="drop"),
        Step(0x06, PACKET_BYTES_MAX, label="keep"),
    ]


def _ipv4() -> list[Step]:
    return [
        _IP_HEADER_LENGTH,
        _load("byte", 9),
        _if(_TCP, then="tcp4"),
        _if(_UDP, then="udp4"),
        _if(_ICMP, otherwise="outside4"),
        _load("byte", 0, after_header=True),
        _if(_ECHO, then="outside4", otherwise="drop"),
        _load("byte", 13, after_header=True, label="tcp4"),
        _mask(_SYN_ACK_RST),
        _if(_SYN, then="outside4"),
        _if(_RST_ACK, otherwise="drop"),
        _load("word", 4, after_header=True),  # a refusal of a SYN has sequence number 0 (RFC 9293, section 3.5.2)
        _if(0, otherwise="drop"),
        _load("byte", 12),
        _if(127, then="keep", otherwise="drop"),
        _load("half", 2, after_header=True, label="udp4"),
        *[_if(port, then="keep") for port in sorted(DNS_PORTS)],
        _load("byte", 16, label="outside4"),
        _if(127, then="drop", otherwise="keep"),
    ]


def _ipv6() -> list[Step]:
    return [
        _load("byte", 6, label="ipv6"),
        _if(_TCP, then="tcp6"),
        _if(_UDP, then="udp6"),
        _if(_ICMP6, otherwise="outside6"),
        _load("byte", 40),
        _if(_ECHO6, then="outside6", otherwise="drop"),
        _load("byte", 53, label="tcp6"),
        _mask(_SYN_ACK_RST),
        _if(_SYN, then="outside6"),
        _if(_RST_ACK, otherwise="drop"),
        _load("word", 44),
        _if(0, otherwise="drop"),
        *_unless_loopback6(8, label="", loopback="keep", other="drop"),
        _load("half", 42, label="udp6"),
        *[_if(port, then="keep") for port in sorted(DNS_PORTS)],
        *_unless_loopback6(24, label="outside6", loopback="drop", other="keep"),
    ]


def _unless_loopback6(at: int, *, label: str, loopback: str, other: str) -> list[Step]:
    """Whether the address at an offset is ::1."""
    return [
        _load("word", at, label=label),
        _if(0, otherwise=other),
        _load("word", at + 4),
        _if(0, otherwise=other),
        _load("word", at + 8),
        _if(0, otherwise=other),
        _load("word", at + 12),
        _if(1, then=loopback, otherwise=other),
    ]


def assembled(program: Sequence[Step] | None = None) -> bytes:
    """The filter as an array of struct sock_filter: code, two jump distances, a value."""
    steps = list(program if program is not None else _program())
    places = {step.label: place for place, step in enumerate(steps) if step.label}

    def distance(label: str, place: int) -> int:
        return places[label] - place - 1 if label else 0

    return b"".join(
        struct.pack("=HBBI", step.code, distance(step.then, place), distance(step.otherwise, place), step.value)
        for place, step in enumerate(steps)
    )
