"""How TLS ends (RFC 8446, section 6.1): mitmproxy 12 says no `close_notify`, and does not say whether one came.

- A client that insists on it takes each end of ours for a cut. Here ours is said where a connection ends as one does.
- A body that ends with its connection may have been cut where the server ended without it. Then an agent gets none
  either: it sees the same end as without us. So it does where something was broken off.
"""

from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, layer
from mitmproxy.proxy.layers.tls import TLSLayer
from mitmproxy.proxy.tunnel import TunnelLayer
from OpenSSL import SSL

_BROKEN_OFF = "edgetape_broken_off"  # among the members of a Connection: it does not end as one does

type _Run = layer.CommandGenerator[None]


def break_off(connection: Connection) -> None:
    """From now on this connection ends without a word."""
    vars(connection)[_BROKEN_OFF] = True


def is_broken_off(connection: Connection) -> bool:
    """Whether a connection ended without a word, or is to."""
    return bool(vars(connection).get(_BROKEN_OFF))


def receive_close(tls: TLSLayer) -> _Run:
    """In the place of the same method: notes an end without a word."""
    if tls.tls.get_shutdown() & SSL.RECEIVED_SHUTDOWN:
        return
    break_off(tls.conn)
    yield from TunnelLayer.receive_close(tls)


def send_close(tls: TLSLayer, command: commands.CloseConnection) -> _Run:
    """In the place of the same method: says the last word, where there is one to be said."""
    session: SSL.Connection | None = tls.tls
    if session is not None and not is_broken_off(tls.conn):
        try:
            session.shutdown()
        except SSL.Error:
            pass  # no handshake, or a connection that has failed: there is nothing to end
        else:
            yield from tls.tls_interact()
    yield from TunnelLayer.send_close(tls, command)
