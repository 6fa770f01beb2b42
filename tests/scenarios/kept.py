"""What a test's store holds, read as anybody may read it: the exchanges of a run with their bodies."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from store.core.model import HttpRequestEnd, TunnelOpen
from store.exchange import Exchange, exchanges
from store.reader import Reader
from store.verify import Terms, verify


@dataclass(frozen=True, slots=True)
class Kept:
    """One exchange: `ended` and `body` are those of its answer, `failed` the kind of a failure before any."""

    method: str
    place: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    sent: bytes
    status: int | None
    body: bytes
    ended: str | None
    failed: str | None
    http_version: str

    @property
    def digest(self) -> str:
        """SHA-256 of the answer's body, in hex."""
        return hashlib.sha256(self.body).hexdigest()


def kept(folder: Path, word: str = "last") -> list[Kept]:
    """The exchanges of the run that `word` means, in their order."""
    with Reader.open(folder, folder.parent / "keys") as reader:
        run = reader.find(word).id
        return [_kept(reader, exchange) for exchange in exchanges(reader.events(run))]


def tunnels(folder: Path, word: str = "last") -> list[str]:
    """The reason of every tunnel of a run."""
    with Reader.open(folder, folder.parent / "keys") as reader:
        facts = [event.facts for event in reader.events(reader.find(word).id)]
    return [fact.reason for fact in facts if isinstance(fact, TunnelOpen)]


def proven(folder: Path, *, gaps: bool = False) -> None:
    """Fails unless the whole store verifies with nothing to find and no run left open, and gaps are told of."""
    verdict = verify(folder, folder.parent / "keys", terms=Terms(deep=True))
    assert verdict.findings == (), [str(each) for each in verdict.findings]
    assert verdict.exit_code == (30 if gaps else 0)
    assert ("GAPS" in dict(verdict.flags)) is gaps
    assert "OPEN_RUN" not in dict(verdict.flags)


def _kept(reader: Reader, exchange: Exchange) -> Kept:
    asked, answered, failed = exchange.facts, exchange.response, exchange.error
    request, outcome, upload = exchange.request, exchange.outcome, exchange.upload
    scheme, host, path = (
        reader.text(request, text).decode("latin-1") for text in (asked.scheme, asked.host, asked.path)
    )
    sent = reader.body(request, asked.body)
    if upload is not None and isinstance(upload.facts, HttpRequestEnd):
        sent = reader.body(upload, upload.facts.body)
    body, version = b"", b""
    if answered is not None and outcome is not None:
        body, version = reader.body(outcome, answered.body), reader.text(outcome, answered.http_version)
    return Kept(
        method=reader.text(request, asked.method).decode("latin-1"),
        place=f"{scheme}://{host}:{asked.port}{path}",
        query=reader.body(request, asked.query),
        headers=tuple(reader.pairs(request, asked.headers)),
        sent=sent,
        status=answered.status if answered else None,
        body=body,
        ended=answered.ended if answered else None,
        failed=failed.kind if failed else None,
        http_version=version.decode("latin-1"),
    )
