"""Serves what a recording holds no more: each mark in a recorded answer becomes a stand-in, which is known again.

Rules kept here:
- A secret that the agent holds by itself is given back as it is: an answer that quoted the key quotes today's.
- What is served is recorded with the marks of this replay's own run.
- The one-to-one map of secrets learns each pair, so another secret in a stand-in's place is a drift.
- Headers of no known kind may differ by nature (ids that are new for each request). What stood in one is paired with
  what stands there now only once an answer quotes it.
"""

import re
from dataclasses import dataclass, field

from replay_server.answer import Recorded
from replay_server.pairing import Pairing
from replay_server.rewriting import Write, changes, headed, rewritten
from store.core.form import Mark, Pairs
from store.core.redact import Redactor
from store.core.redaction.marks import MARK
from store.core.redaction.standin import stand_in

_SERVABLE = re.compile(rb"[A-Za-z0-9_.~+/=:-]+")


@dataclass(frozen=True, slots=True)
class StandIns:
    """Those of one replay of the recorded run `run`; `made` are all that an answer could hold so far."""

    run: str
    redactor: Redactor
    secrets: Pairing[Mark]
    made: set[bytes] = field(default_factory=set)
    _headers: dict[Mark, Mark] = field(default_factory=dict)

    def reveal(self, recorded: Recorded) -> tuple[Recorded, Recorded]:
        """An answer as it is served, and as it is written into this replay's own run."""
        if not self._has_marks(recorded):
            return recorded, recorded
        return self._with(recorded, self._served), self._with(recorded, self._mark)

    def pair(self, recorded: Pairs, live: Pairs) -> None:
        """Learns from the credentials in the headers of a request, which are not compared."""
        lives = {name.lower(): value for name, value in live}
        for name, value in recorded:
            if b"<edgetape:" not in value:
                continue
            was, now = MARK.findall(value), MARK.findall(lives.get(name.lower(), b""))
            if len(was) == len(now) == 1:
                there, here = ((kind, int(number)) for kind, number in (*was, *now))
                if there[0] == b"header":
                    self._headers[there] = here
                else:
                    self.secrets.learn((there,), (here,))

    def _served(self, found: re.Match[bytes]) -> bytes:
        mark = self._mark(found)
        secret = self.redactor.secrets.secret_of(mark)
        return secret if secret is not None and _SERVABLE.fullmatch(secret) else self._made(found)

    def _mark(self, found: re.Match[bytes]) -> bytes:
        """The mark that this replay's run has for the same secret."""
        recorded = _key(found)
        live = self.secrets.live(recorded)
        if live is None and recorded in self._headers:
            self.secrets.learn((recorded,), (self._headers[recorded],))
            live = self.secrets.live(recorded)
        if live is not None:
            return b"<edgetape:%s:%d>" % live
        mark = self.redactor.secrets.adopt(self._made(found), found[1].decode())
        known = MARK.fullmatch(mark)
        assert known is not None
        self.secrets.learn((recorded,), (_key(known),))
        return mark

    def _made(self, found: re.Match[bytes]) -> bytes:
        made = stand_in(self.run, found[1].decode(), int(found[2]))
        self.made.add(made)
        return made

    @staticmethod
    def _with(recorded: Recorded, write: Write) -> Recorded:
        if not recorded.exact:
            recorded = rewritten(recorded, changes(recorded.body, MARK, write))
        return headed(recorded, MARK, write)

    @staticmethod
    def _has_marks(recorded: Recorded) -> bool:
        pairs = (*recorded.headers, *recorded.trailers)
        return any(b"<edgetape:" in value for _, value in pairs) or (
            not recorded.exact and b"<edgetape:" in recorded.body
        )


def _key(found: re.Match[bytes]) -> Mark:
    return found[1], int(found[2])
