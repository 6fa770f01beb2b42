"""A value that the control endpoint hands out when it is made and not remembered: the time, random bytes, an id."""

import secrets
import time
import uuid
from datetime import UTC, datetime

from store.core.control import calls
from store.core.control.calls import Wanted
from store.core.event import timestamp


def fresh(wanted: Wanted) -> bytes:
    """The answer to a call for a value, as JSON."""
    match wanted.kind:
        case "now":
            unix_us = time.time_ns() // 1000
            return calls.now(timestamp(datetime.fromtimestamp(unix_us / 1_000_000, UTC)), unix_us)
        case "random":
            return calls.random(secrets.token_bytes(wanted.length))
    return calls.uuid(str(uuid.uuid4()))
