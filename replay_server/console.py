"""The control API of a replay that pauses: HTTP on loopback, with a token; what the terminal can do, programs can.

- `GET /v1/paused` gives `{"paused": null}` or `{"paused": {step, request, has_begun, answer}}`, answer being {status,
  headers, body | b64, message}: message is what a streamed answer of a model comes to, else null. `?wait=S` waits so
  many seconds (at most 60) for an answer to be held.
- `POST /v1/go` takes `{"action": "next" | "continue" | "stop", "set": ["/a=1"], "status": 500, "body": "...",
  "cut_after": 10}`, all but action optional, and answers `{"gone": STEP}`.

401 without the token (`Authorization: Bearer TOKEN`); 409 when nothing is held; 422 for what does not fit; a problem
(RFC 9457) says why. Requests that a browser makes for a page (Origin, Referer) are refused with 403.
"""

import asyncio
import base64
import hmac
import json
import socket
from collections.abc import Awaitable, Callable
from typing import cast

from aiohttp import web

from replay_server.answer import Recorded
from replay_server.injection import Edit, Injection, message_of
from replay_server.modes import NotAllowed
from replay_server.pause import ACTIONS, Action, Held, Pause

type Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

WAIT_S_MAX = 60.0


class Console:
    """Serves the API on a socket that listens already."""

    def __init__(self, pause: Pause, token: str) -> None:
        self._pause = pause
        self._token = token
        self._runner: web.AppRunner | None = None

    async def start(self, listener: socket.socket) -> None:
        """Takes requests from now on."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            return self._refusal(request) or await handler(request)

        application = web.Application(middlewares=[guard])
        application.add_routes([web.get("/v1/paused", self._paused), web.post("/v1/go", self._go)])
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.SockSite(self._runner, listener).start()

    async def stop(self) -> None:
        """Takes none any more."""
        if self._runner is not None:
            await self._runner.cleanup()

    def _refusal(self, request: web.Request) -> web.Response | None:
        if "Origin" in request.headers or "Referer" in request.headers:
            return _problem(403, "pages may not call this")
        said = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(said.encode("utf-8", "surrogateescape"), self._token.encode()):
            return _problem(401, "this needs the token that edgetape printed")
        return None

    async def _paused(self, request: web.Request) -> web.Response:
        try:
            wait_s = min(WAIT_S_MAX, float(request.query.get("wait", "0")))
        except ValueError:
            return _problem(422, "wait is a number of seconds")
        until = asyncio.get_running_loop().time() + wait_s
        # Whoever holds an answer tells one listener, and that is the terminal.
        while self._pause.held is None and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        held = self._pause.held
        return web.json_response({"paused": None if held is None else held_document(held)})

    async def _go(self, request: web.Request) -> web.Response:
        held = self._pause.held
        if held is None:
            return _problem(409, "no answer is held")
        try:
            action, injection = _said(await request.json())
            self._pause.say(action, injection)
        except (NotAllowed, ValueError, TypeError) as error:
            return _problem(422, str(error))
        return web.json_response({"gone": held.step})


def held_document(held: Held) -> dict[str, object]:
    """A held answer as JSON."""
    about = {"step": held.step, "request": held.place, "has_begun": held.has_begun}
    return {**about, "answer": _answer(held.recorded)}


def _answer(answer: Recorded) -> dict[str, object]:
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in answer.headers]
    told: dict[str, object] = {"status": answer.status, "headers": headers, "message": message_of(answer)}
    try:
        return {**told, "body": answer.body.decode()}
    except UnicodeDecodeError:
        return {**told, "b64": base64.b64encode(answer.body).decode()}


def _said(document: object) -> tuple[Action, Injection]:
    if not isinstance(document, dict) or document.get("action") not in ACTIONS:
        raise NotAllowed(f"action is one of {', '.join(ACTIONS)}")
    edits, body = document.get("set", []), document.get("body")
    status, cut = document.get("status"), document.get("cut_after")
    if not isinstance(edits, list) or not all(isinstance(edit, str) for edit in edits):
        raise NotAllowed("set is a list of strings: /pointer=value")
    if not isinstance(body, str | None) or not _whole(status) or not _whole(cut):
        raise NotAllowed("body is a string; status and cut_after are whole numbers")
    if status is not None and not 200 <= status <= 599:
        raise NotAllowed("status is 200 to 599")
    parsed = tuple(Edit.parse(edit) for edit in edits)
    return cast("Action", document["action"]), Injection(None if body is None else body.encode(), status, parsed, cut)


def _whole(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _problem(status: int, detail: str) -> web.Response:
    text = json.dumps({"title": "The replay's control API refuses", "status": status, "detail": detail})
    return web.Response(status=status, text=text, content_type="application/problem+json")
