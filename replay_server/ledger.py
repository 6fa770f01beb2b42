"""The replay's own run in the store: what was asked, what was served, and the verdict. It is the replay certificate."""

from dataclasses import replace
from itertools import chain
from typing import Any

from replay_server import labels as known
from replay_server.answer import Arrived, Live, Recorded, Reply, build
from replay_server.normalise import Told
from replay_server.report import Report
from replay_server.rewriting import media_type
from store.core import chunks, digest, rpc, websocket
from store.core.coding import as_stored
from store.core.control.calls import NoteKind, Passed, ValueKind
from store.core.draft import Draft, Elsewhere, Sheet, altered
from store.core.form import Endpoint, Pairs, first
from store.core.model import (
    CloseReason,
    Ended,
    ErrorKind,
    HttpError,
    HttpRequest,
    HttpResponse,
    Note,
    Parent,
    RunSpawn,
    TunnelClose,
    TunnelOpen,
    Value,
    Verdict,
    is_step,
)
from store.core.redact import Content, Redacted, Redactor, stored
from store.core.redaction.marks import tally
from store.core.redaction.pieces import recut
from store.core.rpc import Message
from store.core.text import Headers
from store.labels.dialect import RequestLabels, ResponseLabels
from store.labels.own import NO_RULES, OwnRules
from store.labels.spelling import request_members, response_members
from store.ticket import Ticket
from store.writer import Writer

_LATER = -1  # stands where the writer puts the seq of the request


class Ledger:
    """Writes one replay's run, of which `steps` counts the steps. Nothing here waits; `failure` is the first error of
    the store.
    """

    def __init__(self, writer: Writer, redactor: Redactor, draft: Draft) -> None:
        self.failure: BaseException | None = None
        self.steps = 0
        self._writer = writer
        self._redactor = redactor
        self.run, self._newest = writer.open_run(draft)
        self._watch(self._newest)

    def request(
        self,
        told: Told,
        http_version: str,
        like: HttpRequest | None,
        labels: RequestLabels | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> Ticket:
        """A request; `like` is the recorded one that answers it, whose labels it takes unless it has its own, and
        `elsewhere` where the body of that is kept.
        """
        sheet, place = Sheet(), told.endpoint
        members: dict[str, Any] = {} if like is None else known.of_request(like)
        if labels is not None:
            members = request_members(sheet, labels)
        if told.body.content:
            asked = told.asked
            members |= {
                "body": sheet.apart(
                    told.body,
                    media_type(asked.headers).decode("latin-1"),
                    first(asked.headers, b"content-encoding").decode("latin-1").lower(),
                    elsewhere,
                ),
                "exact": told.body.exact,
                "wire_bytes": None if told.body.exact else told.body.wire_bytes,
                "redactions": [list(mark) for mark in told.body.marks] or None,
            }
        facts = HttpRequest(
            method=sheet.text(stored(place.method.encode("latin-1"))),
            scheme=place.scheme,
            host=sheet.text(self._redactor.plain(place.host)),
            port=place.port,
            path=sheet.text(told.path),
            http_version=http_version,
            headers=sheet.pairs(told.headers),
            query=sheet.apart(told.query) if told.query.content else None,
            **members,
        )
        return self._append(sheet.draft(facts))

    def response(
        self,
        request: Ticket,
        served: Recorded,
        ended: Ended,
        like: known.Likeness = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """What was served, and how that ended; `like` is the recorded answer, whose labels it takes, or has its own,
        and `elsewhere` where its body is kept.
        """
        sheet = Sheet()
        members: dict[str, Any] = known.of_answer(sheet, like)
        if served.body:
            kind = media_type(served.headers).decode("latin-1")
            coding = first(served.headers, b"content-encoding").decode("latin-1").lower()
            members["body"] = sheet.apart(stored(served.body), kind, coding, elsewhere)
            members |= _altered(served)
        if served.chunks:
            members["chunks"] = sheet.apart(stored(chunks.encode(served.chunks)))
        facts = HttpResponse(
            req=_LATER,
            status=served.status,
            http_version="HTTP/1.1",
            headers=_pairs(sheet, served.headers),
            ended=ended,
            framing=served.framing,
            reason=sheet.text(stored(served.reason)) if served.reason else None,
            trailers=_pairs(sheet, served.trailers) if served.trailers else None,
            interim=_interim(sheet, served) if served.interim else None,
            **members,
        )
        self._append(sheet.draft(facts), request)

    def arrived(
        self, request: Ticket, arrived: Arrived, asked: RequestLabels, place: Endpoint, own: OwnRules = NO_RULES
    ) -> tuple[Ticket, ResponseLabels]:
        """The answer of a real server, with the recorder's redaction."""
        sheet, answer = Sheet(), arrived.answer
        purpose = self._redactor.endpoint(place.method, place.host, place.path, ())
        about = Content.of(answer.headers, purpose)
        headers = [(name, self._redactor.header(name, value, response=True)) for name, value in answer.headers]
        body = self._redactor.body(answer.body, about)
        plain = as_stored([(name, value.content) for name, value in headers], exact=body.exact)
        labels = own.response_labels(asked, answer.status, plain, body.content)
        members: dict[str, Any] = {}
        if body.content:
            members["body"] = sheet.apart(body, about.media_type, "" if body.decoded else about.coding)
            cut = recut(answer.chunks, answer.body, about.coding, body)
            members["chunks"] = sheet.apart(stored(chunks.encode(cut)))
        members |= altered(body)
        facts = HttpResponse(
            req=_LATER,
            status=answer.status,
            http_version=arrived.http_version,
            headers=sheet.pairs([(stored(name), value) for name, value in headers]),
            ended=answer.ended,
            framing=answer.framing,
            reason=sheet.text(stored(answer.reason)) if answer.reason else None,
            upstream=arrived.upstream,
            tls=arrived.tls,
            first_byte_us=arrived.first_byte_us,
            total_us=arrived.total_us,
            **members,
            **response_members(sheet, labels),
        )
        return self._append(sheet.draft(facts), request), labels

    def unreached(self, request: Ticket, kind: ErrorKind, detail: str, total_us: int) -> Ticket:
        """A real server that gave no answer."""
        sheet = Sheet()
        said = sheet.apart(self._redactor.plain(detail), "text/plain") if detail else None
        return self._append(sheet.draft(HttpError(req=_LATER, kind=kind, detail=said, total_us=total_us)), request)

    def redacted(self, answer: Recorded) -> Recorded:
        """An answer that a person had a hand in, as it is recorded: there may be a secret in it now."""
        found = self._redactor.body(answer.body, Content.of(answer.headers))
        cut = recut(answer.chunks, answer.body, "", found)
        return replace(answer, body=found.content, chunks=cut, exact=answer.exact and found.exact)

    def reply(
        self,
        request: Ticket,
        said: Recorded,
        live: Live,
        kept: Recorded | None = None,
        like: known.Likeness = None,
        elsewhere: Elsewhere | None = None,
    ) -> Reply:
        """An answer of ours, recorded once it was sent: as `kept` where given, with the labels of `like`, whose body is
        kept `elsewhere`.
        """

        recorded = replace(kept or said, interim=()) if live.http10 else kept or said

        def sent(ended: Ended) -> None:
            self.response(request, recorded, said.ended if ended == "complete" else ended, like, elsewhere)

        return Reply(build(said, live), sent)

    def error(self, request: Ticket, kind: ErrorKind) -> None:
        """A recorded failure that was served as one."""
        self._append(Draft(HttpError(req=_LATER, kind=kind)), request)

    def value(self, kind: ValueKind, body: bytes) -> None:
        """A recorded value that was handed out again."""
        sheet = Sheet()
        self._append(sheet.draft(Value(kind=kind, body=sheet.apart(stored(body), "application/json"))))

    def note(self, kind: NoteKind, body: Redacted) -> None:
        """What the agent noted."""
        sheet = Sheet()
        self._append(sheet.draft(Note(kind=kind, body=sheet.apart(body, "application/json"))))

    def rpc(self, passed: Passed, said: Message, body: Redacted) -> None:
        """A message to or from a tool server on stdin and stdout."""
        self._append(rpc.draft(self._redactor, passed.server, passed.direction, said, body))

    def heard(self, request: Ticket, body: Redacted, *, is_text: bool) -> None:
        """A message of the agent's on a WebSocket."""
        self._append(websocket.message(body, "to_server", altered(body), is_text=is_text), request)

    def said(self, request: Ticket, served: Recorded, *, is_text: bool) -> None:
        """A recorded message that was said to it again."""
        self._append(websocket.message(stored(served.body), "to_client", _altered(served), is_text=is_text), request)

    def goodbye(self, request: Ticket, code: int, by: websocket.By, reason: str) -> None:
        """The end of a WebSocket."""
        self._append(websocket.goodbye(code, by, self._redactor.plain(reason)), request)

    def tunnel(self, host: str, port: int) -> Ticket:
        """A connection to the agent's own listener."""
        sheet = Sheet()
        return self._append(
            sheet.draft(TunnelOpen(host=sheet.text(self._redactor.plain(host)), port=port, reason="local"))
        )

    def tunnel_end(self, opened: Ticket, sent_bytes: int, received_bytes: int, duration_us: int) -> None:
        """The end of such a connection."""
        facts = TunnelClose(open=_LATER, sent_bytes=sent_bytes, received_bytes=received_bytes, duration_us=duration_us)
        self._append(Draft(facts), opened)

    async def close(self, report: Report, reason: CloseReason, exit_code: int | None) -> None:
        """Writes the verdict and ends the run. Raises StoreUnusable when that is not on disk."""
        sheet = Sheet()
        facts = Verdict(
            verdict=sheet.text(self._redactor.plain(report.verdict)),
            exit_code=report.exit_code,
            counts=[[name, count] for name, count in report.counts.items()],
            report=sheet.apart(self._redactor.plain(report.json()), "application/json"),
        )
        self._append(sheet.draft(facts))
        await self._writer.close_run(self.run, reason, exit_code=exit_code)
        if self.failure is not None:
            raise self.failure

    async def newest(self) -> Parent:
        """The newest event of the run, for a child to name. Raises StoreUnusable."""
        placed = await self._newest
        assert placed is not None
        return Parent(run=self.run, seq=placed.seq, event_hash=placed.hash.hex())

    def spawn(self, child: str) -> None:
        """A child run that was opened."""
        genesis = digest.genesis_prev(self._writer.origin, child).hex()
        self._append(Draft(RunSpawn(child=child, genesis=genesis)))

    async def end(self, reason: CloseReason = "operator") -> None:
        """Ends the run without a verdict: of a replay that never began, or of a child. Raises StoreUnusable."""
        await self._writer.close_run(self.run, reason)

    def _append(self, draft: Draft, after: Ticket | None = None) -> Ticket:
        self.steps += is_step(draft.facts)
        self._newest = self._watch(self._writer.append(self.run, draft, after=after))
        return self._newest

    def _watch(self, ticket: Ticket) -> Ticket:
        def note(error: Exception | None) -> None:
            self.failure = self.failure or error

        ticket.when_done(note)
        return ticket


def _altered(served: Recorded) -> dict[str, Any]:
    """How a body that was served differs from what a server once said."""
    if served.exact and not served.mapped:
        return {}
    marks = [*(tally(served.body) or ()), *([["mapped", served.mapped]] if served.mapped else ())]
    return {"exact": False, "redactions": marks or None}


def _interim(sheet: Sheet, served: Recorded) -> Headers:
    told = ([(b":status", b"%d" % status), *fields] for status, fields in served.interim)
    return _pairs(sheet, list(chain.from_iterable(told)))


def _pairs(sheet: Sheet, pairs: Pairs) -> Headers:
    return sheet.pairs([(stored(name), stored(value)) for name, value in pairs])
