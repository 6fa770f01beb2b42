"""Finds out which run a request belongs to, and takes what was said for us off it.

In this order: the header X-Edgetape-Run; the beginning of the path, on a port that stands for a server; the member
edgetape.run of the trace's baggage; the user name of the proxy URL, which nearly every client sends; the run of the
listener. The proxy URL's credentials come with CONNECT, and with every request that is not inside one. Baggage is the
trace's, and goes on.
"""

from collections.abc import Iterable

from mitmproxy.connection import Client
from mitmproxy.http import HTTPFlow

from addons.listeners import Listeners
from addons.options import RecorderOptions
from addons.runs import Tag
from store.core.baggage import member, trace
from store.core.base import Addressed
from store.core.credentials import TOKEN_HEADER, credentials
from store.drafting.seen import Pairs

TAG = "edgetape.tag"  # in flow.metadata: the Tag of a request
SAID = "edgetape.said"  # in flow.metadata: what the request's path said for us, where a port stands for a server
TENANT = "edgetape.tenant"  # in flow.metadata: whose token came with it
_WORKFLOW = b"x-edgetape-workflow"
INSIDE = "edgetape.inside"  # in flow.metadata: whether the request came inside a CONNECT


class RunTag:
    """Remembers what each CONNECT said, and marks every request."""

    def __init__(self, options: RecorderOptions, listeners: Listeners) -> None:
        self._listeners = listeners
        self.tell(options)
        self._run_headers = _names(options.run_headers)
        self._parent_headers = _names(options.parent_headers)
        self._ours = {
            *self._run_headers,
            *self._parent_headers,
            TOKEN_HEADER,
            _WORKFLOW,
            b"proxy-authorization",
            b"proxy-connection",
        }
        self._connects: dict[str, Tag] = {}
        self._latest: dict[str, Tag] = {}

    def tell(self, options: RecorderOptions) -> None:
        """Another way with requests that name no run from now on."""
        self._keeps_apart = options.unknown_run == "new"

    def http_connect(self, flow: HTTPFlow) -> None:
        """A CONNECT: what it says holds for all that comes inside."""
        self._mark(flow)
        self._connects[flow.client_conn.id] = flow.metadata[TAG]

    def requestheaders(self, flow: HTTPFlow) -> None:
        """A request: marked, and its headers for us taken off."""
        self._mark(flow)

    def client_disconnected(self, client: Client) -> None:
        """Nothing more comes on this connection."""
        self._connects.pop(client.id, None)
        self._latest.pop(client.id, None)

    def said_by(self, client: Client) -> Tag:
        """What was last said on a connection."""
        return self._latest.get(client.id) or Tag()

    def has_asked(self, client: Client) -> bool:
        """Whether anything but the CONNECT itself was asked on a connection."""
        return self._latest.get(client.id) is not self._connects.get(client.id)

    def _mark(self, flow: HTTPFlow) -> None:
        fields, client = flow.request.headers.fields, flow.client_conn.id
        listener = self._listeners.of(flow.client_conn)
        before = self._connects.get(client) or Tag(listener.run if listener is not None else "")
        baggage = ",".join(_all(fields, b"baggage"))
        by_client = _first(fields, self._run_headers) or said(flow).run or member(baggage, "edgetape.run")
        tag = Tag(
            name=by_client or credentials(fields)[0] or before.name,
            parent=_first(fields, self._parent_headers) or before.parent,
            tenant=flow.metadata.get(TENANT, ""),
            apart=self._apart(client, fields),
            workflow=_first(fields, [_WORKFLOW]) or member(baggage, "edgetape.workflow") or before.workflow,
        )
        self._latest[client] = tag
        flow.metadata[TAG] = tag
        flow.metadata[INSIDE] = client in self._connects
        flow.request.headers.fields = tuple(pair for pair in fields if pair[0].lower() not in self._ours)

    def _apart(self, client: str, fields: Pairs) -> str:
        """What keeps the run of a request that names none apart from others: nothing, its trace, or its connection."""
        if not self._keeps_apart:
            return ""
        traced = trace(_first(fields, [b"traceparent"]))
        return f"trace {traced[0]}" if traced else f"connection {client}"


def said(flow: HTTPFlow) -> Addressed:
    """What the path of a request said for us."""
    known = flow.metadata.get(SAID)
    return known if isinstance(known, Addressed) else Addressed(b"")


def _first(fields: Pairs, names: Iterable[bytes]) -> str:
    said = {name.lower(): value for name, value in reversed(fields)}
    value = next((said[name] for name in names if said.get(name)), b"")
    return value.decode("utf-8", "surrogateescape")


def _all(fields: Pairs, name: bytes) -> list[str]:
    return [value.decode("utf-8", "surrogateescape") for field, value in fields if field.lower() == name]


def _names(names: Iterable[str]) -> list[bytes]:
    return [name.lower().encode() for name in names]
