"""Serves what a recording holds no more: each mark in a recorded answer becomes a stand-in, which is known again.

Rules kept here:
- A secret that the agent holds by itself is given back as it is: an answer that quoted the key quotes today's.
- What is served is recorded with the marks of this replay's own run.
- The one-to-one map of secrets learns each pair, so another secret in a stand-in's place is a drift.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from replay_server.answer import Recorded
from replay_server.match import Secrets
from store.core import frames
from store.core.form import Mark, Pairs, first
from store.core.redact import Redacted, Redactor
from store.core.redaction.marks import MARK, Edit
from store.core.redaction.pieces import recut
from store.core.redaction.standin import stand_in

_SERVABLE = re.compile(rb"[A-Za-z0-9_.~+/=:-]+")

type Write = Callable[[re.Match[bytes]], bytes]


@dataclass(frozen=True, slots=True)
class StandIns:
    """Those of one replay of the recorded run `run`."""

    run: str
    redactor: Redactor
    secrets: Secrets

    def reveal(self, recorded: Recorded) -> tuple[Recorded, Recorded]:
        """An answer as it is served, and as it is written into this replay's own run."""
        if not self._has_marks(recorded):
            return recorded, recorded
        return self._with(recorded, self._served), self._with(recorded, self._mark)

    def pair(self, recorded: Pairs, live: Pairs) -> None:
        """Learns from the credentials in the headers of a request, which are not compared."""
        lives = {name.lower(): MARK.findall(value) for name, value in live}
        for name, value in recorded:
            was, now = MARK.findall(value), lives.get(name.lower(), [])
            if len(was) == len(now) == 1 and was[0][0] != b"header":
                self.secrets.learn(((was[0][0], int(was[0][1])),), ((now[0][0], int(now[0][1])),))

    def _served(self, found: re.Match[bytes]) -> bytes:
        mark = self._mark(found)
        secret = self.redactor.secrets.secret_of(mark)
        return secret if secret is not None and _SERVABLE.fullmatch(secret) else self._made(found)

    def _mark(self, found: re.Match[bytes]) -> bytes:
        """The mark that this replay's run has for the same secret."""
        recorded = _key(found)
        live = self.secrets.live(recorded)
        if live is not None:
            return b"<edgetape:%s:%d>" % live
        mark = self.redactor.secrets.adopt(self._made(found), found[1].decode())
        known = MARK.fullmatch(mark)
        assert known is not None
        self.secrets.learn((recorded,), (_key(known),))
        return mark

    def _made(self, found: re.Match[bytes]) -> bytes:
        return stand_in(self.run, found[1].decode(), int(found[2]))

    def _with(self, recorded: Recorded, write: Write) -> Recorded:
        body, chunks = recorded.body, recorded.chunks
        if not recorded.exact:
            body, edits = _rewritten(body, write)
            media_type = first(recorded.headers, b"content-type").partition(b";")[0].strip().lower()
            if media_type == frames.MEDIA_TYPE.encode():
                body = frames.reframed(recorded.body, body, edits) or body
            told = Redacted(body, len(recorded.body), (("", len(edits)),) if edits else (), edits=edits)
            chunks = recut(chunks, recorded.body, "", told)
        headers, trailers = (_pairs(pairs, write) for pairs in (recorded.headers, recorded.trailers))
        return replace(recorded, headers=headers, body=body, chunks=chunks, trailers=trailers)

    @staticmethod
    def _has_marks(recorded: Recorded) -> bool:
        pairs = (*recorded.headers, *recorded.trailers)
        return any(b"<edgetape:" in value for _, value in pairs) or (
            not recorded.exact and b"<edgetape:" in recorded.body
        )


def _rewritten(body: bytes, write: Write) -> tuple[bytes, tuple[Edit, ...]]:
    pieces: list[bytes] = []
    edits: list[Edit] = []
    at = 0
    for found in MARK.finditer(body):
        new = write(found)
        pieces += (body[at : found.start()], new)
        edits.append((found.start(), found.end(), len(new)))
        at = found.end()
    return b"".join([*pieces, body[at:]]), tuple(edits)


def _pairs(pairs: Pairs, write: Write) -> Pairs:
    return [(name, MARK.sub(write, value)) for name, value in pairs]


def _key(found: re.Match[bytes]) -> Mark:
    return found[1], int(found[2])
