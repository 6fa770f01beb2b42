"""What a test framework says to the harness, and what it hears: one JSON object a line. Pure.

{"do": "replay", "tape", "pid", "environment", "order"?, "on_drift"?, "ignore"?, "optional"?, "local"?}
{"do": "record", "tape", "pid", "environment", "name", "folder", "local"?}
                               -> {"session", "port", "environment": {name: value, null to unset}}
{"do": "end", "session", "keep"?}
    of a replay                -> {"clean", "verdict", "lines", "report"}
    of a recording             -> {"run", "steps", "tape", "cause"}; tape is null where none was written
                               -> {"error", "hint"} of whatever cannot be done
"""

import json
from collections.abc import Mapping
from typing import Literal

import msgspec

from store.core.errors import Malformed

PROTOCOL = 1
LINE_BYTES_MAX = 16 * 1024 * 1024


class Begin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What both kinds of session want: the tape's path, the test's process and its environment."""

    tape: str
    pid: int
    environment: dict[str, str]
    local: Literal["pass", "record"] = "pass"


class Replay(Begin, frozen=True, tag_field="do", tag="replay"):
    """Answer from a tape."""

    order: Literal["causal", "strict", "any"] = "causal"
    on_drift: Literal["stop", "serve"] = "stop"
    ignore: list[str] = []
    optional: list[str] = []


class Record(Begin, frozen=True, tag_field="do", tag="record"):
    """Record, and write a tape at the end."""

    name: str
    folder: str


class End(msgspec.Struct, frozen=True, tag_field="do", tag="end", forbid_unknown_fields=True):
    """Ends a session; of a recording, whether its tape is to be written."""

    session: str
    keep: bool = True


type Wish = Replay | Record | End

_decoder: msgspec.json.Decoder[Wish] = msgspec.json.Decoder(Replay | Record | End)


def wish(line: bytes) -> Wish:
    """What a line asks for. Raises Malformed."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"no line of the harness: {error}") from error


def spelled(answer: Mapping[str, object]) -> str:
    """An answer as its line, in ASCII."""
    return json.dumps(answer) + "\n"
