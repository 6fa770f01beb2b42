"""What the first bytes inside a CONNECT are: TLS, HTTP/1, HTTP/2 without TLS, or something else. Pure."""

import re
from typing import Literal

type Inside = Literal["tls", "http", "cleartext_h2", "not_http", "wait"]

# RFC 8446, section 5.1: content type handshake (22), then legacy_record_version 3.x.
_TLS = b"\x16\x03"
# RFC 9113, section 3.4.
_H2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# RFC 9113, sections 4.1 and 6.5: the frame that a server may send before it has heard anything.
_SETTINGS = re.compile(rb".{3}\x04.\x00{4}", re.DOTALL)
# RFC 9112, section 3, with the methods of three letters or more that everybody uses; mitmproxy knows no others.
_REQUEST_LINE = re.compile(rb"[A-Za-z]{3}[!#$%&'*+.^_`|~0-9A-Za-z-]* [^ \r\n]+ HTTP/1\.[01]\r?\n")
_MAY_BECOME_ONE = re.compile(rb"[A-Za-z]{1,3}[!#$%&'*+.^_`|~0-9A-Za-z-]{0,30}( [^\r\n]*\r?)?")


def sniff(from_client: bytes, from_server: bytes) -> Inside:
    """What is spoken, as far as the bytes that came first tell; `wait` asks for more of the client's."""
    if from_server:
        return "cleartext_h2" if _SETTINGS.match(from_server) else "not_http"
    start = from_client[: len(_H2_PREFACE)]
    if _H2_PREFACE.startswith(start):
        return "cleartext_h2" if len(start) >= len(b"PRI *") else "wait"
    if from_client.startswith(_TLS[: len(from_client)]):
        return "tls" if len(from_client) >= 3 else "wait"
    if _REQUEST_LINE.match(from_client):
        return "http"
    return "wait" if _MAY_BECOME_ONE.fullmatch(from_client) else "not_http"
