"""A packet is told in words, and the kernel's filter picks exactly those that count."""

import struct
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.confined.packets import Attempt, RefusedLocal, assembled, question, read

OUTGOING, INCOMING = 4, 0
TCP, UDP, ICMP, ICMP6, SCTP = 6, 17, 1, 58, 132
SYN, SYN_ACK, ACK, RST_ACK = 0x02, 0x12, 0x10, 0x14


def ip(source: str, destination: str, protocol: int, payload: bytes, options: bytes = b"") -> bytes:
    """An IP packet without checksums."""
    packed = ip_address(source).packed + ip_address(destination).packed
    if ":" in destination:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + packed + payload
    words = 5 + len(options) // 4
    length = 4 * words + len(payload)
    head = struct.pack("!BBHHHBBH", 4 << 4 | words, 0, length, 0, 0, 64, protocol, 0)
    return head + packed + options + payload


def tcp(flags: int, source_port: int = 40000, port: int = 443, sequence: int = 7) -> bytes:
    return struct.pack("!HHIIBBHHH", source_port, port, sequence, 0, 5 << 4, flags, 0, 0, 0)


def udp(port: int, payload: bytes = b"") -> bytes:
    return struct.pack("!HHHH", 40000, port, 8 + len(payload), 0) + payload


def run(program: bytes, packet: bytes, packet_type: int) -> bool:
    """What the kernel does with classic BPF (bpf(4)); outside the packet it gives up, as the kernel does."""
    steps = list(struct.iter_unpack("=HBBI", program))
    accumulator = header = at = 0
    widths = {0x00: 4, 0x08: 2, 0x10: 1}
    while True:
        code, then, otherwise, value = steps[at]
        at += 1
        if code == 0x06:
            return bool(value)
        if code == 0x15:
            at += then if accumulator == value else otherwise
        elif code == 0x54:
            accumulator &= value
        elif code == 0xB1:
            header = 4 * (packet[value] & 0xF)
        elif value == 0xFFFFF000:
            accumulator = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
        elif value == 0xFFFFF004:
            accumulator = packet_type
        else:
            start = value + (header if code & 0x40 else 0)
            piece = packet[start : start + widths[code & 0x18]]
            if len(piece) < widths[code & 0x18]:
                return False
            accumulator = int.from_bytes(piece)


HERE4, HERE6, AWAY4, AWAY6 = "127.0.0.1", "::1", "203.0.113.7", "2001:db8::7"
PICKED = [
    (ip(HERE4, AWAY4, TCP, tcp(SYN)), Attempt("tcp", AWAY4, 443)),
    (ip(HERE4, AWAY4, TCP, tcp(SYN), options=b"\1\1\1\0"), Attempt("tcp", AWAY4, 443)),
    (ip(HERE6, AWAY6, TCP, tcp(SYN)), Attempt("tcp", AWAY6, 443)),
    (ip(HERE6, "::", TCP, tcp(SYN)), Attempt("tcp", "::", 443)),
    (ip(HERE4, AWAY4, UDP, udp(8125)), Attempt("udp", AWAY4, 8125)),
    (ip(HERE6, AWAY6, UDP, udp(8125)), Attempt("udp", AWAY6, 8125)),
    (ip(HERE4, "127.0.0.53", UDP, udp(53)), Attempt("dns", "127.0.0.53", 53, "?")),
    (ip(HERE6, HERE6, UDP, udp(53)), Attempt("dns", "::1", 53, "?")),
    (ip(HERE4, AWAY4, ICMP, b"\x08\0\0\0"), Attempt("icmp", AWAY4)),
    (ip(HERE6, AWAY6, ICMP6, b"\x80\0\0\0"), Attempt("icmp", AWAY6)),
    (ip(HERE4, AWAY4, SCTP, b"\0" * 12), Attempt("ip protocol 132", AWAY4)),
    (ip(HERE4, HERE4, TCP, tcp(RST_ACK, source_port=5432, sequence=0)), RefusedLocal(5432)),
    (ip(HERE6, HERE6, TCP, tcp(RST_ACK, source_port=5432, sequence=0)), RefusedLocal(5432)),
]
PASSED_OVER = [
    ip(HERE4, HERE4, TCP, tcp(SYN)),
    ip(HERE4, "127.9.9.9", TCP, tcp(SYN)),
    ip(HERE6, HERE6, TCP, tcp(SYN)),
    ip(HERE4, HERE4, UDP, udp(8125)),
    ip(HERE6, HERE6, UDP, udp(8125)),
    ip(AWAY4, HERE4, TCP, tcp(RST_ACK, sequence=0)),
    ip(AWAY6, HERE6, TCP, tcp(RST_ACK, sequence=0)),
    ip(HERE4, AWAY4, TCP, tcp(SYN_ACK)),
    ip(HERE4, AWAY4, TCP, tcp(ACK)),
    ip(HERE4, HERE4, TCP, tcp(RST_ACK, sequence=7)),
    ip(HERE4, HERE4, ICMP, b"\x08\0\0\0"),
    ip(AWAY4, HERE4, ICMP, b"\x03\x03\0\0"),
    ip(AWAY6, HERE6, ICMP6, b"\x01\x04\0\0"),
]


@pytest.mark.parametrize("packet, told", PICKED, ids=[str(told) for _, told in PICKED])
def test_a_packet_that_counts_is_picked_once_and_told(packet: bytes, told: Attempt | RefusedLocal) -> None:
    assert run(assembled(), packet, OUTGOING)
    assert not run(assembled(), packet, INCOMING)
    assert read(packet) == told


@pytest.mark.parametrize("packet", PASSED_OVER, ids=lambda packet: packet.hex())
def test_a_packet_inside_or_an_answer_is_passed_over(packet: bytes) -> None:
    assert not run(assembled(), packet, OUTGOING)


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=63), min_size=1, max_size=4))
def test_the_name_of_a_question_is_read_back(labels: list[str]) -> None:
    encoded = b"".join(bytes([len(label)]) + label.encode() for label in labels)
    assert question(bytes(12) + encoded + b"\0\0\x01\0\x01") == ".".join(labels)


def test_a_name_cannot_drive_a_terminal() -> None:
    assert question(bytes(12) + b"\x04\x1b[2J\0\0\x01\0\x01") == "?[2J"


@given(st.binary(max_size=80))
def test_no_packet_breaks_the_reader(packet: bytes) -> None:
    told = read(packet)
    assert told is None or isinstance(told, Attempt | RefusedLocal)


@pytest.mark.parametrize(
    "attempt, words",
    [
        (Attempt("tcp", AWAY4, 443), "TCP to 203.0.113.7:443"),
        (Attempt("udp", AWAY6, 9), "UDP to [2001:db8::7]:9"),
        (Attempt("icmp", AWAY4), "ICMP to 203.0.113.7"),
        (Attempt("dns", AWAY4, 53, "api.example"), "DNS for api.example (asked 203.0.113.7:53)"),
    ],
)
def test_an_attempt_reads_as_a_sentence(attempt: Attempt, words: str) -> None:
    assert str(attempt) == words
