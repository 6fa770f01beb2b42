"""The ids of runs, which sort by the time they were made."""

import secrets
import time
import uuid


def new_run_id() -> str:
    """A UUIDv7 (RFC 9562, section 5.7): sorts by the time it was made, to the millisecond."""
    milliseconds = time.time_ns() // 1_000_000
    raw = milliseconds.to_bytes(6, "big") + secrets.token_bytes(10)
    value = int.from_bytes(raw, "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))
