"""Which kind of failure a message of mitmproxy's tells of. Pure."""

import re
from typing import Literal

from store.core.model import Ended, ErrorKind

Side = Literal["client", "server"]
Sureness = Literal["certain", "likely", "no"]

# getaddrinfo's own error numbers are negative where errno's are not (RFC 3493, section 6.1).
_NO_ADDRESS = re.compile(r"\[Errno -\d+\]|getaddrinfo|nodename nor servname|name or service not known", re.IGNORECASE)
_TOO_LATE = re.compile(r"\[Errno (60|110)\]|timed? ?out", re.IGNORECASE)
_CONNECTING = re.compile(r"\[Errno \d+\]|connect call failed|refused HTTP CONNECT|^error connecting", re.IGNORECASE)
_NOT_ALLOWED = re.compile(
    r"^Connection killed|^refused by edgetape|destination unknown|^Received .* refusing", re.IGNORECASE
)
_QUOTES_THE_SERVER = re.compile(r"^(unexpected server response|Cannot parse HTTP response)")


def error_kind(message: str, side: Side, *, tls_failed: bool, silent: bool, closed: bool = False) -> ErrorKind:
    """Why no status line came.

    `tls_failed`: the handshake with the server is what failed; `silent`: nothing had passed for as long as is allowed;
    `closed`: the server has closed the connection, and did not reset it.
    """
    if _QUOTES_THE_SERVER.search(message):
        return "reset"
    if _NOT_ALLOWED.search(message):
        return "refused"
    if side == "client":
        return "timeout" if silent else "client_gone"
    if tls_failed:
        return "tls"
    if _NO_ADDRESS.search(message):
        return "dns"
    # Too late to connect is not to have connected: the agent got its answer, a 502, and no silence.
    if _TOO_LATE.search(message) or _CONNECTING.search(message):
        return "connect"
    return "closed" if closed else "reset"


def distrust(message: str) -> Sureness:
    """Whether a handshake failed because the agent does not trust our certificate, by what mitmproxy made of it."""
    if message.startswith("The client does not trust"):
        return "certain"
    likely = ("The client may not trust", "The client disconnected during the handshake")
    return "likely" if message.startswith(likely) else "no"


def ended(side: Side, *, silent: bool, closed: bool = False) -> Ended:
    """How an answer ended that had begun."""
    if side == "client":
        return "timeout" if silent else "client_gone"
    return "closed" if closed else "reset"
