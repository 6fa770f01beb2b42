"""The two TLS handshakes of a connection, without making anew what was made for the last one to the same server.

mitmproxy reads the names of the server's certificate, looks for ours with those, and puts it and its key into each
connection, both written out and read in again on the way. Here that is kept:
- by the server's certificate and the names that were asked for, a context of OpenSSL's that has our certificate in it;
- by its bytes, a certificate of a server's.
What depends on the connection (what the agent offers, what the server chose) is told to each.
"""

from collections.abc import Callable, MutableMapping

from mitmproxy import certs, ctx
from mitmproxy.addons import tlsconfig
from mitmproxy.http import HTTPFlow
from mitmproxy.net import tls as net_tls
from mitmproxy.proxy import context
from mitmproxy.tls import TlsData
from OpenSSL import SSL, crypto

KEPT_MAX = 100

type _Key = tuple[tuple[certs.Cert, ...], str | None, str | None, str]


class Handshakes(tlsconfig.TlsConfig):
    """mitmproxy's add-on, by whose name it goes."""

    name = "tlsconfig"

    def __init__(self) -> None:
        self._contexts: dict[_Key, SSL.Context] = {}

    def configure(self, updated: set[str]) -> None:
        """Other options, for which nothing holds that was kept."""
        self._contexts.clear()
        super().configure(updated)  # type: ignore[no-untyped-call]

    def tls_start_client(self, tls_start: TlsData) -> None:
        """Begins with an agent."""
        at, agent = tls_start.context, tls_start.context.client
        # mitmproxy begins by itself where TLS is spoken with the proxy, and where somebody has said which ciphers.
        if tls_start.ssl_conn is not None or tls_start.is_dtls or agent.cipher_list or len(at.layers) == 2:
            super().tls_start_client(tls_start)
            return
        key = _key(at)
        made = self._contexts.get(key)
        if made is None:
            made = kept(self._contexts, key, self._made(at))
        connection = SSL.Connection(made)
        told = tlsconfig.AppData(client_alpn=agent.alpn, server_alpn=at.server.alpn, http2=ctx.options.http2)
        connection.set_app_data(told)
        connection.set_accept_state()
        tls_start.ssl_conn = connection

    def request(self, flow: HTTPFlow) -> None:
        """Answers whoever asks for our list of certificates that were taken back: only its path ends so."""
        if flow.request.data.path.endswith(b".crl"):
            super().request(flow)

    def _made(self, at: context.Context) -> SSL.Context:
        """A context as mitmproxy makes it, and with our certificate and its key."""
        entry, options = self.get_cert(at), ctx.options
        least = net_tls.Version[options.tls_version_client_min]
        ciphers = options.ciphers_client.split(":") if options.ciphers_client else tlsconfig._default_ciphers(least)
        shown = at.server.certificate_list if options.add_upstream_certs_to_client_chain else ()
        chain = entry.chain_certs if entry.chain_file is None and len(entry.chain_certs) > 1 else ()
        make: Callable[..., SSL.Context] = net_tls.create_client_proxy_context.__wrapped__
        made = make(
            method=net_tls.Method.TLS_SERVER_METHOD,
            min_version=least,
            max_version=net_tls.Version[options.tls_version_client_max],
            cipher_list=tuple(ciphers),
            ecdh_curve=net_tls.get_curve(options.tls_ecdh_curve_client),
            chain_file=entry.chain_file,
            request_client_cert=options.request_client_cert,
            alpn_select_callback=tlsconfig.alpn_select_callback,
            extra_chain_certs=(*chain, *shown),
            dhparams=self.certstore.dhparams,
        )
        made.use_certificate(entry.cert.to_cryptography())
        made.use_privatekey(entry.privatekey)
        return made


def _key(at: context.Context) -> _Key:
    """What `TlsConfig.get_cert` makes a certificate from."""
    agent, server = at.client, at.server
    address = server.address[0] if server.address else None
    return tuple(server.certificate_list), agent.sni, address, "" if agent.sni else agent.sockname[0]


def kept[K, V](known: MutableMapping[K, V], key: K, value: V) -> V:
    """Keeps something, and forgets all else where there is too much of it."""
    if len(known) >= KEPT_MAX:
        known.clear()
    known[key] = value
    return value


_known: dict[bytes, certs.Cert] = {}


def certificate(given: crypto.X509) -> certs.Cert:
    """In the place of `Cert.from_pyopenssl`: one that came before is not read again. Raises ValueError as that does."""
    raw = crypto.dump_certificate(crypto.FILETYPE_ASN1, given)
    found = _known.get(raw)
    return found if found is not None else kept(_known, raw, certs.Cert(given.to_cryptography()))
