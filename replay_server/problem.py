"""The answer to a request that a replay does not serve: a 422 with a problem (RFC 9457) that the usual clients show.

Rules kept here:
- Beside the problem's members stands `error: {type, message}`, which OpenAI's and Anthropic's clients read.
- `x-should-retry: false`, which both honour; 422 is retried by neither.
"""

import json
from dataclasses import replace
from typing import Literal

from replay_server.answer import Recorded
from replay_server.departures import Json

type Name = Literal["drifted", "unexpected", "exhausted", "unserved", "failed", "withheld", "socket"]

STATUS = 422
_TITLES: dict[Name, str] = {
    "drifted": "This request is not the recorded one",
    "unexpected": "This request is not in the recording",
    "exhausted": "This request was asked for more often than recorded",
    "unserved": "The recorded answer cannot be served",
    "failed": "The replay server failed",
    "withheld": "This request may not reach the real server",
    "socket": "Real servers are asked over HTTP, and no WebSocket to one is opened",
}


def over_http(detail: str, found: dict[str, Json]) -> Recorded:
    """The answer to who asks for a WebSocket and could ask over HTTP as well: a 426 (RFC 9110, section 15.5.22), at
    which clients that can go over to it.
    """
    told = problem("socket", detail, found)
    upgrade = ((b"Upgrade", b"HTTP/1.1"), (b"Connection", b"Upgrade"))
    return replace(told, status=426, reason=b"Upgrade Required", headers=(*told.headers, *upgrade))


def problem(name: Name, detail: str, found: dict[str, Json]) -> Recorded:
    """The answer; `found` is the part of the report that tells of this request."""
    document: dict[str, Json] = {
        "type": f"urn:edgetape:replay:{name}",
        "title": _TITLES[name],
        "status": STATUS,
        "detail": detail,
        "error": {"type": f"edgetape_{name}", "message": f"edgetape replay: {detail}"},
        "report": found,
    }
    headers = ((b"Content-Type", b"application/problem+json"), (b"x-should-retry", b"false"))
    body = json.dumps(document, ensure_ascii=False).encode()
    return Recorded(STATUS, b"Unprocessable Content", headers, "length", "refused_by_policy", body)
