"""Records of TLS that have been spoken with a session's own means, not with a layer: opened as they come, and sealed.

pyOpenSSL makes a buffer of its own for each call, and looks for an error after each. Here one buffer serves all, and
only what goes wrong is told to it, which raises what it would have raised.
"""

from contextlib import suppress
from typing import Any

from OpenSSL import SSL

READ_BYTES_MAX = 65_535  # as much as mitmproxy takes at a time

_RECORD_BYTES_MAX = 1 << 14  # RFC 8446, section 5.1
_RECORD = b"\x17\x03\x03"  # application data, RFC 8446, section 5.1

_lib: Any = vars(SSL).get("_lib")
_ffi: Any = vars(SSL).get("_ffi")
# For one call at a time: all of this is done in the event loop's thread.
_room: Any = None if _ffi is None else _ffi.new("char[]", READ_BYTES_MAX)


def fits() -> bool:
    """Whether this pyOpenSSL is made as is assumed here; mitmproxy takes later ones, too."""
    if _lib is None or _ffi is None:
        return False
    made = SSL.Connection(SSL.Context(SSL.TLS_METHOD))
    return all(hasattr(made, name) for name in ("_ssl", "_into_ssl", "_from_ssl"))


def opened(tls: SSL.Connection, data: bytes) -> tuple[bytes, bool]:
    """What was said, and whether something else was, too: an end, or an error, which the layer finds again."""
    if _lib.BIO_write(tls._into_ssl, data, len(data)) != len(data):
        tls.bio_write(data)
    got = _lib.SSL_read(tls._ssl, _room, _RECORD_BYTES_MAX)
    # To learn that there is no more costs as much as reading it.
    if got > 0 and data.startswith(_RECORD) and int.from_bytes(data[3:5]) + 5 == len(data):
        return _ffi.buffer(_room, got)[:], False
    parts: list[bytes] = []
    while got > 0:
        parts.append(_ffi.buffer(_room, got)[:])
        got = _lib.SSL_read(tls._ssl, _room, _RECORD_BYTES_MAX)
    try:
        parts.append(tls.recv(_RECORD_BYTES_MAX))
    except SSL.WantReadError:
        return b"".join(parts), False
    except SSL.Error:
        pass
    return b"".join(parts), True


def sealed(tls: SSL.Connection, data: bytes) -> bytes:
    """The same encrypted, behind whatever else is to go out."""
    done = _lib.SSL_write(tls._ssl, data, len(data))  # one record of it
    if done != len(data):
        with suppress(SSL.ZeroReturnError, SSL.SysCallError):  # as in the layer: who has left takes nothing more
            tls.sendall(data[max(0, done) :])
    return unsent(tls)


def unsent(tls: SSL.Connection) -> bytes:
    """What is to go out, such as an answer to an update of keys (RFC 8446, section 4.6.3)."""
    out = b""
    while (got := _lib.BIO_read(tls._from_ssl, _room, READ_BYTES_MAX)) > 0:
        out += _ffi.buffer(_room, got)[:]
        if got < READ_BYTES_MAX:
            break
    return out
