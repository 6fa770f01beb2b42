"""Moments as people say them: `30d`, `12h`, or a date."""

import re
from datetime import UTC, datetime, timedelta

from proxy.border import Misuse
from store.core.event import timestamp

_SPAN = re.compile(r"(\d+)([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def since(said: str, now: datetime) -> str:
    """The moment as an event's timestamp spells it, `now` less a span or a date in UTC. Raises Misuse."""
    span = _SPAN.fullmatch(said.strip())
    try:
        if span is not None:
            return timestamp(now - timedelta(**{_UNITS[span[2]]: int(span[1])}))
        moment = datetime.fromisoformat(said.strip())
    except (ValueError, OverflowError) as error:
        raise Misuse(f"this is no moment: {said}", hint="write 30d, 12h, or a date such as 2026-11-30") from error
    return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
