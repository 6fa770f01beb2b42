"""The events of a run as frozen values (docs/format.md, section 4).

Rules kept here:
- Every member is typed; a member that an event's type does not know is refused. A member without a value is absent.
- What the wire or the agent brought is a Text, or a Body that is committed, opened and erased apart.
"""

from typing import Literal, get_args

import msgspec

from store.core.text import Body, Headers, Hex32, Number, Pairs, Tallies, Text

Ended = Literal[
    "complete", "client_gone", "reset", "closed", "timeout", "refused_by_policy", "truncated", "recorder_stopped"
]
ErrorKind = Literal["dns", "connect", "tls", "timeout", "reset", "closed", "client_gone", "refused", "recorder_stopped"]
CloseReason = Literal["normal", "agent_exit", "idle", "operator", "crash_recovered"]
Mode = Literal["record", "replay", "fork", "compare", "sandbox", "import"]
Framing = Literal["none", "length", "chunked", "close", "frames"]


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one event says beyond its place in the run; each event type is a subclass, its tag the event's `type`."""


class Agent(Facts, frozen=True):
    """Who ran: all that could hold a secret is a body."""

    name: Text | None = None
    version: Text | None = None
    argv: Body | None = None
    cwd: Body | None = None
    credential_names: Body | None = None


class Parent(Facts, frozen=True):
    """The event of another run that this run goes on from."""

    run: str
    seq: Number
    event_hash: Hex32


class Policies(Facts, frozen=True):
    """Digests or versions of the rules in force while the run was recorded."""

    redaction: str
    classification: str
    policy: str | None = None


class LogPoint(Facts, frozen=True):
    """A checkpoint of the store log that was the newest at some time."""

    size: Number
    root: Hex32


class RunOpen(Facts, frozen=True, tag="run.open"):
    """Event 0."""

    origin: str
    mode: Mode
    recorder: str
    clock: str
    policies: Policies
    agent: Agent
    name: Text | None = None
    principal: Text | None = None
    workflow: Text | None = None
    labels: Pairs | None = None
    parent: Parent | None = None
    checkpoint: LogPoint | None = None
    bases: list[str] | None = None


class HttpRequest(Facts, frozen=True, tag="http.request"):
    """A request handed to the log before it leaves."""

    method: Text
    scheme: Text
    host: Text
    port: Number
    path: Text
    http_version: Text
    headers: Headers
    query: Body | None = None
    body: Body | None = None
    streaming: bool = False
    wire_bytes: Number | None = None
    exact: bool = True
    truncated: bool = False
    redactions: Tallies | None = None
    kind: str | None = msgspec.field(default=None, name="class")
    boundary: str | None = None
    effect: str | None = None
    operation: str | None = None
    tool: Text | None = None
    model: Text | None = None
    settings: Pairs | None = None
    idempotency_key: Text | None = None
    trace_id: str | None = None
    span_id: str | None = None
    rules: str | None = None


class HttpRequestEnd(Facts, frozen=True, tag="http.request.end"):
    """The end of a streamed upload."""

    req: Number
    ended: Ended
    body: Body | None = None
    chunks: Body | None = None
    trailers: Headers | None = None
    wire_bytes: Number | None = None
    exact: bool = True
    truncated: bool = False
    redactions: Tallies | None = None


class HttpResponse(Facts, frozen=True, tag="http.response"):
    """The outcome of a request once a status line has arrived."""

    req: Number
    status: Number
    http_version: Text
    headers: Headers
    ended: Ended
    framing: Framing
    reason: Text | None = None
    interim: Headers | None = None
    trailers: Headers | None = None
    body: Body | None = None
    chunks: Body | None = None
    wire_bytes: Number | None = None
    exact: bool = True
    truncated: bool = False
    redactions: Tallies | None = None
    upstream: Text | None = None
    tls: Text | None = None
    first_byte_us: Number | None = None
    total_us: Number | None = None
    model: Text | None = None
    usage: Tallies | None = None
    stop: Text | None = None
    tools: list[Text] | None = None
    provider_request_id: Text | None = None
    receipt: Text | None = None
    rules: str | None = None


class HttpError(Facts, frozen=True, tag="http.error"):
    """The outcome of a request when no status line arrived; `detail` is a body."""

    req: Number
    kind: ErrorKind
    detail: Body | None = None
    total_us: Number | None = None


class WsMessage(Facts, frozen=True, tag="ws.message"):
    """One WebSocket message (RFC 6455)."""

    req: Number
    direction: Literal["to_server", "to_client"]
    opcode: Literal["text", "binary"]
    body: Body
    wire_bytes: Number | None = None
    exact: bool = True
    redactions: Tallies | None = None


class WsClose(Facts, frozen=True, tag="ws.close"):
    """The end of a WebSocket with its code (RFC 6455, section 7.4)."""

    req: Number
    code: Number
    by: Literal["client", "server", "unknown"]
    reason: Body | None = None


class RpcMessage(Facts, frozen=True, tag="rpc.message"):
    """One JSON-RPC message of a stdio MCP server."""

    server: Text
    direction: Literal["to_server", "to_client"]
    body: Body
    method: Text | None = None
    id: Text | None = None


class TunnelOpen(Facts, frozen=True, tag="tunnel.open"):
    """A connection that was passed through unopened, and why."""

    host: Text
    port: Number
    reason: Literal["excluded", "pinned", "local", "cleartext_h2", "not_http", "upgrade"]


class TunnelClose(Facts, frozen=True, tag="tunnel.close"):
    """The end of a tunnel: what passed, counted."""

    open: Number
    sent_bytes: Number
    received_bytes: Number
    duration_us: Number


class Gap(Facts, frozen=True, tag="gap"):
    """Something that was not recorded: from when, to when, why."""

    since: str
    until: str
    reason: Text


class Value(Facts, frozen=True, tag="value"):
    """A time, random value or id that the control endpoint handed out."""

    kind: Literal["now", "random", "uuid"]
    body: Body


class Frozen(Facts, frozen=True, tag="frozen"):
    """What a replay gives the agent again unasked: every reading of its clock, or the seed of its chance."""

    kind: Literal["clock", "seed"]
    body: Body


class Note(Facts, frozen=True, tag="note"):
    """What the agent told about itself: a claim."""

    kind: Literal["decision", "state", "policy", "approval", "retrieval", "effect"]
    body: Body
    source: Literal["agent"] = "agent"


class RunSpawn(Facts, frozen=True, tag="run.spawn"):
    """A child run was opened."""

    child: str
    genesis: Hex32


class RunClose(Facts, frozen=True, tag="run.close"):
    """The end of a run: over all events before this one, how many, their head and their RFC 6962 root."""

    n: Number
    head: Hex32
    root: Hex32
    reason: CloseReason
    counts: Tallies
    dropped: Number = 0
    partial: Number = 0
    children: list[str] | None = None
    exit_code: Number | None = None
    clock: Literal["resumed"] | None = None


class Verdict(Facts, frozen=True, tag="verdict"):
    """What a replay found: its sentence, its exit code, how many of each, and the whole report as a body."""

    verdict: Text
    exit_code: Number
    counts: Tallies
    report: Body


type Fact = (
    RunOpen
    | HttpRequest
    | HttpRequestEnd
    | HttpResponse
    | HttpError
    | WsMessage
    | WsClose
    | RpcMessage
    | TunnelOpen
    | TunnelClose
    | Gap
    | Value
    | Frozen
    | Note
    | RunSpawn
    | RunClose
    | Verdict
)

EVENT_TYPES: dict[str, type[Facts]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Fact.__value__)}


def is_step(facts: Facts) -> bool:
    """Whether an event is one of those that a person counts: a request of any kind, a value, a note."""
    if isinstance(facts, RpcMessage):
        return facts.direction == "to_server" and facts.method is not None and facts.id is not None
    return isinstance(facts, HttpRequest | Value | Note)
