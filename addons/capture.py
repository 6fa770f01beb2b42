"""Records every exchange: the request before it leaves, its outcome before the agent has all of it.

Rules kept here:
- A body of known length up to `whole_bytes_max` is held until it is recorded; anything else streams through a tee.
- Every request gets exactly one outcome, whatever happens to it; what mitmproxy forgets is swept up.
"""

import asyncio
import contextlib
import time

from mitmproxy.connection import Client
from mitmproxy.http import HTTPFlow, Request, Response
from mitmproxy.tls import TlsData

from addons import sight
from addons.failures import Side, ended, error_kind
from addons.flows import Live
from addons.interim import expects
from addons.keeping import ANSWERED, BARRED, UNRECORDED, Keeping, answer, watched
from addons.options import RecorderOptions
from addons.repairs import FAULT_SIDE
from addons.run_tag import TAG
from addons.tee import Tee
from addons.tunnel import PASSED
from store.core.model import Ended, ErrorKind
from store.drafting.scribe import Part
from store.drafting.seen import Answer, Upload
from store.spool import MEMORY_BYTES_MAX

SWEEP_AFTER_S = 1.0

_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))


class Capture:
    """The hooks of an exchange, in the order in which they come."""

    def __init__(self, keeping: Keeping, options: RecorderOptions) -> None:
        self.keeping = keeping
        self.stopping = False
        self._long = asyncio.Semaphore()
        self._options = options
        self._tls_failed: dict[str, str] = {}
        self._sweeping: set[asyncio.Task[None]] = set()

    @watched
    async def requestheaders(self, flow: HTTPFlow) -> None:
        """The head of a request: a long or endless one is recorded now, since it leaves while it comes."""
        if ANSWERED in flow.metadata or PASSED in flow.metadata or UNRECORDED in flow.metadata:
            return
        live = self.keeping.flows.begin(await self._live(flow))
        if BARRED in flow.metadata:
            await self._refuse(live, str(flow.metadata[BARRED]))
        elif flow.error is None and not self._is_short(flow.request):
            live.upload = self._tee(live, "upload")
            flow.request.stream = live.upload
            await self._record_request(live, b"", streaming=True)

    @watched
    async def request(self, flow: HTTPFlow) -> None:
        """The whole of a request."""
        live = self.keeping.flows.get(flow)
        if live is None:
            return
        if live.upload is None:
            await self._record_request(live, flow.request.raw_content or b"")
            return
        if live.upload.failure is not None:
            raise live.upload.failure
        await self._record_upload(live, "complete")
        if live.answered:
            self.keeping.flows.end(flow)

    @watched
    async def responseheaders(self, flow: HTTPFlow) -> None:
        """The head of an answer."""
        live, response = self.keeping.flows.get(flow), flow.response
        if response is not None and UNRECORDED in flow.metadata:
            response.stream = True  # nobody holds it, or keeps a copy
        if live is None or response is None:
            return
        live.first_byte_ns = time.monotonic_ns()
        endless = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        bodiless = sight.framing(flow, response) == "none"
        if not bodiless and (endless or not self._is_short(response)):
            live.answer = self._tee(live, "answer", response)
            response.stream = live.answer

    @watched
    async def response(self, flow: HTTPFlow) -> None:
        """The whole of an answer. Of a streamed one only its end is still to come, and waits."""
        live, response = self.keeping.flows.get(flow), flow.response
        if live is None or response is None:
            return
        if live.answer is not None and live.answer.failure is not None:
            raise live.answer.failure
        live.ending = True
        await self._keep(live, live.answer, sight.answer(live, response, "complete"))
        self.keeping.counts.exchanges += 1
        live.ending = False
        self.keeping.flows.answered(live)
        if flow.websocket is None and (live.upload is None or live.upload_ended):
            self.keeping.flows.end(flow)

    @watched
    async def error(self, flow: HTTPFlow) -> None:
        """An exchange that came to a bad end."""
        live = self.keeping.flows.get(flow)
        if live is not None and not live.ending:
            message = flow.error.msg if flow.error is not None else ""
            await self._end_badly(live, message)

    @watched
    async def http_connect_error(self, flow: HTTPFlow) -> None:
        """A CONNECT to where nobody answers: the one way in which a CONNECT is an exchange."""
        if ANSWERED in flow.metadata:
            return
        live = self.keeping.flows.begin(await self._live(flow))
        await self._record_request(live, b"")
        why = flow.server_conn.error or ""
        await self._end_badly(live, why)
        if BARRED not in flow.metadata and flow.response is not None:  # the engine's own speaks of its options
            flow.response = Response.make(502, f"{why}\n".encode(), {"Content-Type": "text/plain"})

    def tls_failed_server(self, failed: TlsData) -> None:
        """The request that this was for fails later, with the same message."""
        self._tls_failed[failed.context.client.id] = failed.conn.error or ""

    def client_disconnected(self, client: Client) -> None:
        """What mitmproxy has ended without a hook is ended a little later."""
        self._tls_failed.pop(client.id, None)
        if self.keeping.flows.left(client.id):
            asyncio.get_running_loop().call_later(SWEEP_AFTER_S, self._sweep_later, client.id)

    async def sweep(self, client: str | None = None) -> None:
        """Ends what is left of one connection, or of all."""
        for live in self.keeping.flows.left(client):
            await self._sweep_one(live.flow)

    @watched
    async def _sweep_one(self, flow: HTTPFlow) -> None:
        live = self.keeping.flows.get(flow)
        if live is not None and not live.ending:
            await self._end_badly(live, "the connection ended")

    def _sweep_later(self, client: str) -> None:
        task = asyncio.get_running_loop().create_task(self.sweep(client))
        self._sweeping.add(task)
        task.add_done_callback(self._sweeping.discard)

    async def _live(self, flow: HTTPFlow) -> Live:
        run = await self.keeping.runs.of(flow.metadata[TAG])
        sent = flow.request
        return Live(flow, run, sent.headers.fields, sent.scheme, sent.host, sent.port)

    async def _record_request(self, live: Live, body: bytes, *, streaming: bool = False) -> None:
        live.request = await self.keeping.keep(live.run, sight.request(live, body, streaming=streaming))
        live.handed_ns = time.monotonic_ns()

    async def _refuse(self, live: Live, why: str) -> None:
        """A request that goes nowhere: its body is not waited for."""
        sent = live.flow.request
        streaming = sent.headers.get("content-length", "0") != "0" or "transfer-encoding" in sent.headers
        await self._record_request(live, b"", streaming=streaming)
        if streaming:
            await self._record_upload(live, "refused_by_policy")
        await self.keeping.keep(live.run, sight.failure(live, "refused", why), live.request)
        self.keeping.counts.exchanges += 1
        self.keeping.flows.end(live.flow)
        answer(live.flow, 403, "Forbidden", why)

    async def _record_upload(self, live: Live, how: Ended) -> None:
        live.upload_ended = True
        await self._keep(live, live.upload, sight.upload(live, how))

    async def _keep(self, live: Live, tee: Tee | None, seen: Answer | Upload) -> None:
        """Appends an event. While that of a long body is written, it may be in memory whole: one of them at a time."""
        long = tee is not None and tee.seen_bytes > MEMORY_BYTES_MAX
        async with self._long if long else contextlib.nullcontext():
            await self.keeping.keep(live.run, seen, live.request)

    async def _end_badly(self, live: Live, message: str) -> None:
        live.ending = True
        side: Side = "server" if live.flow.metadata.get(FAULT_SIDE) == "server" else "client"
        live.stopped |= self.stopping
        closed = self.keeping.was_closed(live.flow)
        how = "recorder_stopped" if live.stopped else ended(side, silent=self._is_silent(live), closed=closed)
        await self._record_rest_of_request(live, how)
        if live.answered:
            self.keeping.flows.end(live.flow)
            return
        response = live.flow.response
        if live.first_byte_ns and response is not None:
            await self._keep(live, live.answer, sight.answer(live, response, how))
        else:
            failure = sight.failure(live, self._kind(live, side, message), message)
            await self.keeping.keep(live.run, failure, live.request)
        self.keeping.counts.exchanges += 1
        self.keeping.flows.end(live.flow)

    async def _record_rest_of_request(self, live: Live, how: Ended) -> None:
        """A request that the agent broke off while it was still held never left, but was made."""
        if live.request is None:
            whole = live.flow.request.timestamp_end is not None or live.flow.request.raw_content is None
            await self._record_request(
                live, live.flow.request.raw_content or b"" if whole else b"", streaming=not whole
            )
            if not whole:
                await self._record_upload(live, how)
        elif live.upload is not None and not live.upload_ended:
            await self._record_upload(live, how)

    def _kind(self, live: Live, side: Side, message: str) -> ErrorKind:
        if live.stopped:
            return "recorder_stopped"
        return error_kind(
            message,
            "server" if live.flow.request.method == "CONNECT" else side,
            tls_failed=self._tls_failed.get(live.flow.client_conn.id) == message,
            silent=self._is_silent(live),
            closed=self.keeping.was_closed(live.flow),
        )

    def _is_silent(self, live: Live) -> bool:
        last = max(live.began_ns, live.handed_ns, live.first_byte_ns, *(tee.last_ns for tee in live.tees))
        return time.monotonic_ns() - last >= self._options.silence_s_max * 1_000_000_000

    def _is_short(self, message: Request | Response) -> bool:
        """Whether a message says that it is short enough to be held until it is whole."""
        said = message.headers.get("content-length", "")
        if isinstance(message, Request) and expects(message):
            return False  # whether its body ever comes is for the server to say
        if said.isdecimal():
            return int(said) <= min(self._options.whole_bytes_max, self._options.body_bytes_max)
        # A request without a length has no body, unless it is chunked; over HTTP/2 only its method tells.
        bodiless = isinstance(message, Request) and not (message.is_http2 and message.method in _WITH_BODY)
        return bodiless and "transfer-encoding" not in message.headers

    def _tee(self, live: Live, part: Part, response: Response | None = None) -> Tee:
        head = response

        def give_on(piece: bytes) -> None:
            nonlocal head
            if head is not None:
                self.keeping.piece(live, "head", sight.head(live.flow, head))
                head = None
            self.keeping.piece(live, part, piece)

        said = response.headers.get("content-length", "") if response is not None else ""
        length = int(said) if said.isdecimal() else None
        options = self._options
        return Tee(live.handed_ns or time.monotonic_ns(), options.body_bytes_max, give_on, length, options.spool_folder)
