"""The opening handshake of a recorded WebSocket as it goes out again (RFC 6455, section 4.2.2)."""

import base64
import hashlib

from replay_server.answer import Recorded
from store.core.form import first

SWITCHING_PROTOCOLS = 101
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_ACCEPT = b"sec-websocket-accept"
_EXTENSIONS = b"sec-websocket-extensions"  # of a connection, and none is spoken here


def is_socket(recorded: Recorded) -> bool:
    """Whether a recorded answer switched to a WebSocket."""
    switched = recorded.status == SWITCHING_PROTOCOLS
    return switched and first(recorded.headers, b"upgrade").strip().lower() == b"websocket"


def head(recorded: Recorded, key: bytes) -> bytes:
    """The head of the 101, with the proof for this client's key in the place of the recorded one, or added."""
    lines = [b"HTTP/1.1 101 " + (recorded.reason or b"Switching Protocols")]
    proof = base64.b64encode(hashlib.sha1(key.strip() + _GUID, usedforsecurity=False).digest())
    for name, value in recorded.headers:
        lower = name.lower()
        if lower != _EXTENSIONS:
            lines.append(name + b": " + (proof if lower == _ACCEPT else value))
    if not first(recorded.headers, _ACCEPT):
        lines.append(b"Sec-WebSocket-Accept: " + proof)
    return b"\r\n".join(lines) + b"\r\n\r\n"
