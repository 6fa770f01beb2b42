"""What a client hears that waits for a word before its body (RFC 9110, section 10.1.1), as the recording has it.

Rules kept here:
- Where the recorded server asked for the body by a 100, the client hears that 100 with its fields.
- Where no byte of the recorded body ever came, the client hears the recorded answer, and is not asked for a body.
- Where the server said nothing and the body came all the same, a 100 spares the client its wait.
- In a live mode it is always asked: the body may have to leave.
"""

from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

from replay_server.answer import interim_head
from replay_server.match import Matcher
from replay_server.normalise import host
from replay_server.route import split
from replay_server.tape import Tape
from store.core.form import Asked, Pairs, first
from store.reader import BodyUnavailable

CONTINUE = interim_head(HTTPStatus.CONTINUE, ())


def expects(headers: Pairs) -> bool:
    """Whether whoever sends a request waits for a word before its body."""
    return first(headers, b"expect").lower() == b"100-continue"


@dataclass(frozen=True, slots=True)
class Expectations:
    """Of one session."""

    tape: Tape
    matcher: Matcher
    goes_live: bool

    def word(self, asked: Asked) -> bytes | None:
        """What to say to a request that waits, as its head came; None: its answer, without its body."""
        index = None if self.goes_live else self._next(asked)
        if index is None:
            return CONTINUE
        with suppress(BodyUnavailable):
            if self.tape.exchanges[index].is_asked_in_part and not self.tape.asked(index).body:
                return None
        answer = self.tape.answer(index)
        said = (fields for status, fields in (answer.interim if answer else ()) if status == HTTPStatus.CONTINUE)
        return interim_head(HTTPStatus.CONTINUE, next(said, ()))

    def _next(self, asked: Asked) -> int | None:
        """The next recorded request to the same place that waited, of equal query if there is one."""
        place, _ = split(asked.endpoint._replace(host=host(asked.endpoint.host)))
        waiting = [
            index
            for index, known in enumerate(self.tape.endpoints)
            if known == place and index not in self.matcher.served and expects(self.tape.headers(index))
        ]
        with suppress(BodyUnavailable):
            alike = (index for index in waiting if self.tape.asked(index).query == asked.query)
            return next(alike, next(iter(waiting), None))
        return None
