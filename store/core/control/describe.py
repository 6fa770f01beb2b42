"""The control endpoint told to people and programs: a first page, and its OpenAPI document (version 3.1)."""

from typing import Any

PROBLEM = "application/problem+json"
NAME_BYTES_MAX = 200
LABELS_MAX = 32

JSON_NAMES: dict[type, str] = {str: "a text", list: "an array", bool: "true or false"}
TITLES = {
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    411: "Length Required",
    413: "Content Too Large",
}
WELCOME = """\
edgetape records this run. What is told here goes into the recording, and is answered from it on replay.

  GET  /v1/now                the time
  GET  /v1/random?bytes=16    random bytes
  GET  /v1/uuid               an id
  POST /v1/notes              {"kind": "decision", "summary": "..."}: what only the agent knows
  POST /v1/runs               {"name": "...", "workflow": "...", "labels": {"part": "two"}}: opens a run for a part
  GET  /v1/openapi.json       all of it, for programs
"""

_TEXT = {"type": "string"}
_SHORT = {"type": "string", "maxLength": NAME_BYTES_MAX}
_LABELS = {"type": "object", "maxProperties": LABELS_MAX, "additionalProperties": _SHORT}
_NOTES: dict[str, dict[str, Any]] = {
    "decision": {"summary": _TEXT},
    "state": {"name": _TEXT, "hash": _TEXT},
    "policy": {"version": _TEXT, "verdict": _TEXT},
    "approval": {"who": _TEXT, "when": _TEXT, "subject": _TEXT, "verdict": _TEXT},
    "retrieval": {"corpus_version": _TEXT, "document_ids": {"type": "array", "items": _TEXT}},
    "effect": {"effect": _TEXT, "receipt": _TEXT, "committed": {"type": "boolean"}, "key": _TEXT},
}
NEEDED: dict[str, dict[str, type]] = {
    "decision": {"summary": str},
    "state": {"name": str},
    "policy": {"version": str, "verdict": str},
    "approval": {"who": str, "subject": str, "verdict": str},
    "retrieval": {"document_ids": list},
    "effect": {"effect": str, "committed": bool},
}


def openapi() -> dict[str, Any]:
    """The document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "edgetape control endpoint",
            "version": "1",
            "description": "Answered by the recorder and the replay server themselves, through the proxy.",
        },
        "servers": [{"url": "http://edgetape.internal"}],
        "paths": {
            "/v1/now": _get("The time of the recording", {"now": _TEXT, "unix_us": {"type": "integer"}}),
            "/v1/random": _get("Random bytes of the recording", {"hex": _TEXT}, _LENGTH),
            "/v1/uuid": _get("An id of the recording (a UUID, version 4)", {"uuid": _TEXT}),
            "/v1/notes": _post("Notes what only the agent knows", _note(), {"noted": _TEXT}),
            "/v1/runs": _post(
                "Opens a child run; its requests carry the header that the answer names",
                _object({"name": _SHORT, "workflow": _SHORT, "labels": _LABELS}),
                {"run": _TEXT, "name": _TEXT, "header": _TEXT},
            ),
            "/v1/rpc": _post(
                "Keeps a message of a tool server on stdin and stdout (what `edgetape mcp` does)",
                _object({"server": _TEXT, "direction": {"enum": ["to_server", "to_client"]}, "message": _TEXT}),
                {"forward": {"type": "boolean"}},
            ),
        },
    }


_LENGTH = {
    "name": "bytes",
    "in": "query",
    "required": False,
    "schema": {"type": "integer", "minimum": 1, "maximum": 4096, "default": 16},
}


def _get(summary: str, members: dict[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {"summary": summary, "responses": _answers("200", members)}
    if parameters:
        said["parameters"] = list(parameters)
    return {"get": said}


def _post(summary: str, asked: dict[str, Any], members: dict[str, Any]) -> dict[str, Any]:
    content = {"content": {"application/json": {"schema": asked}}}
    return {"post": {"summary": summary, "requestBody": content, "responses": _answers("201", members)}}


def _answers(status: str, members: dict[str, Any]) -> dict[str, Any]:
    told = {"description": "Done", "content": {"application/json": {"schema": _object(members, *members)}}}
    return {status: told, "default": {"description": "Why not", "content": {PROBLEM: {}}}}


def _note() -> dict[str, Any]:
    return {
        "oneOf": [
            _object({"kind": {"const": kind}, **members}, "kind", *NEEDED[kind]) for kind, members in _NOTES.items()
        ]
    }


def _object(members: dict[str, Any], *required: str) -> dict[str, Any]:
    said: dict[str, Any] = {"type": "object", "properties": members}
    if required:
        said["required"] = list(required)
    return said
