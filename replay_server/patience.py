"""What an agent is told to wait for, and why it may ask oftener than it did: time has passed. Pure.

Rules kept here:
- Nothing is told otherwise than it was recorded unless that was asked for, and then the report says so.
- A cause is named where the recording itself bears it out: its age, and how long its tokens were good for.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from replay_server.answer import Recorded
from replay_server.labels import AUTH, kind
from replay_server.tape import Tape
from store.core.errors import Malformed
from store.core.form import Asked
from store.core.jsontext import Number, parse
from store.core.model import Frozen
from store.labels.describe import plural

_WAITS = frozenset((b"retry-after", b"retry-after-ms", b"x-ms-retry-after-ms"))
_DIGITS_MAX = 12
_TOKEN_S_USUAL = 3600  # a lifetime that many authorities give (RFC 6749, section 5.1, has it as its example)


def at_once(answer: Recorded) -> Recorded:
    """The same without a wait: 0 in the place of every time to wait (RFC 9110, section 10.2.3)."""
    headers = [(name, b"0" if name.lower() in _WAITS else value) for name, value in answer.headers]
    return answer if headers == list(answer.headers) else replace(answer, headers=headers)


def renewal(tape: Tape, asked: Asked, now: datetime) -> str:
    """Why an agent asks for another token than the recorded ones, "" where it asks for none, or time is no reason."""
    frozen = (one.event.facts for one in tape.happenings)
    if kind(asked) != AUTH or any(isinstance(facts, Frozen) and facts.kind == "clock" for facts in frozen):
        return ""
    known = ((at, exchange.facts.kind) for at, exchange in enumerate(tape.exchanges))
    answers = (tape.answer(at) for at, said in known if (said or tape.labelled(at).kind) == AUTH)
    lifetimes = [lifetime_s(answer) for answer in answers if answer is not None]
    return expired(tape.run.opened, lifetimes, now)


def lifetime_s(token: Recorded) -> int | None:
    """How long the answer of a token request says that it is good for (RFC 6749, section 5.1)."""
    try:
        said = parse(token.body)
    except Malformed:
        return None
    found = said.get("expires_in") if isinstance(said, dict) else None
    spelled = found.source if isinstance(found, Number) else found if isinstance(found, str) else ""
    return int(spelled) if spelled.isascii() and spelled.isdigit() and len(spelled) < _DIGITS_MAX else None


def expired(opened: str, lifetimes_s: Iterable[int | None], now: datetime) -> str:
    """Why another token may be asked for than was recorded, "" where time is no reason."""
    age = now - datetime.fromisoformat(opened)
    known = [length for length in lifetimes_s if length is not None]
    lasts_s = min(known, default=_TOKEN_S_USUAL)
    if age < timedelta(seconds=lasts_s):
        return ""
    lasted = f"its tokens were good for {lasts_s} s" if known else "its tokens may have run out"
    return (
        f"the recording is {_spoken(age)} old and {lasted}: by its clock the agent needs another. Recorded with"
        f" --freeze-time it reads the recorded clock; for this one: faketime -f -{int(age.total_seconds())}s COMMAND"
    )


def _spoken(age: timedelta) -> str:
    if age.days:
        return plural(age.days, "day")
    minutes = int(age.total_seconds()) // 60
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{int(age.total_seconds())} s"
