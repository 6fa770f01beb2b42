"""Answers the control endpoint: hands out time, chance and ids, takes notes, opens child runs; all of it recorded.

Rules kept here:
- Nothing of it ever leaves: the name is not even looked up.
- What is handed out is on record before the agent has it.
"""

from mitmproxy.http import HTTPFlow, Response

from addons.keeping import ANSWERED, Keeping, watched
from addons.listeners import Listeners
from addons.run_tag import TAG
from addons.runs import OpenRun
from store.core.control import calls
from store.core.control.calls import CALL_BYTES_MAX, Noted, Passed, Said, Spawned, Wanted
from store.core.draft import Sheet
from store.core.model import Value
from store.core.redact import stored
from store.drafting import seen
from store.fresh import fresh

CONTROL = "edgetape.control"  # in flow.metadata: the request is for us

# An answer goes out when all of the request is there: what is longer than this is cut instead of being waited for.
CUT_BYTES_MIN = 16 * CALL_BYTES_MAX

_JSON = "application/json"


class Control:
    """What is asked of the recorder itself."""

    def __init__(self, keeping: Keeping, listeners: Listeners) -> None:
        self.keeping = keeping
        self._listeners = listeners

    def http_connect(self, flow: HTTPFlow) -> None:
        """A CONNECT to us, or to a port that stands for a server, is granted without dialling anybody."""
        host, port = flow.request.host, flow.request.port
        if ANSWERED not in flow.metadata and (calls.is_ours(host) or self._listeners.base_at(host, port)):
            flow.response = Response.make(200)
            flow.response.reason = "Connection established"
            flow.response.headers.clear()
            flow.metadata[ANSWERED] = True

    @watched
    async def requestheaders(self, flow: HTTPFlow) -> None:
        """A request for us is nobody else's business; one that is far too long is not waited for."""
        if ANSWERED in flow.metadata or not calls.is_ours(flow.request.host):
            return
        flow.metadata[ANSWERED] = flow.metadata[CONTROL] = True
        length = flow.request.headers.get("content-length", "")
        if "transfer-encoding" in flow.request.headers:
            _tell(flow, calls.refusal(411, "send the body with a Content-Length"))
        elif length.isdecimal() and int(length[:12]) > CUT_BYTES_MIN:
            self.keeping.drop(flow.client_conn.id)
        elif length.isdecimal() and int(length) > CALL_BYTES_MAX:
            _tell(flow, calls.refusal(413, f"a call has at most {CALL_BYTES_MAX} bytes"))

    @watched
    async def request(self, flow: HTTPFlow) -> None:
        """The whole of a request for us."""
        if CONTROL not in flow.metadata or flow.response is not None:
            return
        asked, body = flow.request, flow.request.raw_content or b""
        path, _, query = asked.path.partition("?")
        match calls.call(asked.method, path, query, asked.headers.fields, body):
            case Said() as said:
                _tell(flow, said)
            case Wanted() as wanted:
                await self._give(flow, await self.keeping.runs.of(flow.metadata[TAG]), wanted)
            case Noted() as noted:
                await self._note(flow, await self.keeping.runs.of(flow.metadata[TAG]), noted)
            case Passed() as passed:
                await self._pass(flow, await self.keeping.runs.of(flow.metadata[TAG]), passed)
            case Spawned() as spawned:
                await self._spawn(flow, await self.keeping.runs.of(flow.metadata[TAG]), spawned)

    async def _give(self, flow: HTTPFlow, run: OpenRun, wanted: Wanted) -> None:
        given = fresh(wanted)
        sheet = Sheet()
        await self.keeping.keep(run, sheet.draft(Value(kind=wanted.kind, body=sheet.apart(stored(given), _JSON))))
        _tell(flow, Said(200, given))

    async def _note(self, flow: HTTPFlow, run: OpenRun, noted: Noted) -> None:
        await self.keeping.keep(run, seen.Claim(kind=noted.kind, content=noted.content))
        _tell(flow, Said(201, calls.noted(noted.kind)))

    async def _pass(self, flow: HTTPFlow, run: OpenRun, passed: Passed) -> None:
        message = seen.Passed(server=passed.server, direction=passed.direction, message=passed.message)
        await self.keeping.keep(run, message)
        _tell(flow, Said(201, calls.forwarded()))

    async def _spawn(self, flow: HTTPFlow, run: OpenRun, spawned: Spawned) -> None:
        child = await self.keeping.runs.spawn(run, spawned)
        if child is None:
            _tell(flow, calls.refusal(409, f"a run named {spawned.name} is open"))
        else:
            _tell(flow, Said(201, calls.spawned(child.id, spawned.name)))


def _tell(flow: HTTPFlow, said: Said) -> None:
    flow.response = Response.make(said.status, said.body, said.headers)
