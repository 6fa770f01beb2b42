"""Speaks a dialogue with a client, over aiohttp's WebSocket."""

import asyncio
from contextlib import suppress
from typing import Any, Literal

from aiohttp import WSMessage, WSMsgType, web
from aiohttp.http_websocket import WSMessageTextBytes

from replay_server.caller import Line
from replay_server.modes import Pace
from replay_server.pause import Held, Pause
from replay_server.sockets.dialogue import Dialogue
from replay_server.sockets.handshake import head
from replay_server.sockets.turn import Leave, Say
from store.core.websocket import BROKEN_OFF

_NO_CODE = 1005  # a goodbye without a code; it never stands in a frame (RFC 6455, section 7.4.1)
_UNSENDABLE = (BROKEN_OFF, 1015)
_GOODBYE_S_MAX = 2.0
_HEARD_MAX = 64

type _Message = WSMessage | WSMessageTextBytes


class Socket(web.WebSocketResponse[Literal[False]]):
    """A WebSocket that is opened with the recorded head, and nothing of aiohttp's own in it."""

    def __init__(self, dialogue: Dialogue, line: Line, request: web.BaseRequest) -> None:
        offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        super().__init__(
            timeout=_GOODBYE_S_MAX,
            protocols=offered,
            compress=False,
            max_msg_size=0,
            decode_text=False,
            autoclose=False,  # its end is written down before the client is let go
        )
        self._dialogue = dialogue
        self._line = line

    async def _write_headers(self) -> None:
        request = self._req
        assert request is not None
        key = request.headers.get("Sec-WebSocket-Key", "").encode("utf-8", "surrogateescape")
        await self._line.put(head(self._dialogue.served, key))


async def speak(dialogue: Dialogue, line: Line, pace: Pace, pause: Pause | None = None) -> None:
    """The whole life of a socket. A client that leaves without a word cancels this."""
    request = line.request
    assert request is not None  # whoever asks for a socket is let in by the door
    socket = Socket(dialogue, line, request)
    try:
        await socket.prepare(request)
    except web.HTTPException:
        dialogue.opening.sent("refused_by_policy")
        raise
    dialogue.opening.sent("complete")
    ear = Ear(socket)
    try:
        while await _turn(dialogue, ear, line, pace, pause):
            pass
    except ConnectionError:
        await _gone(dialogue, ear, ear.end)
    finally:
        ear.close()
        dialogue.cut()


class Ear:
    """Hears the client all the time, so that its pings are answered while an answer is held or waits for its time."""

    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self.end: _Message | None = None
        self._heard: asyncio.Queue[_Message] = asyncio.Queue(_HEARD_MAX)
        self._listening = asyncio.ensure_future(self._listen())

    async def next(self) -> _Message:
        """The client's next message, or its end."""
        return await self._heard.get()

    async def meanwhile[T](self, task: asyncio.Future[T]) -> T:
        """What `task` comes to. Raises ConnectionResetError when the client leaves before."""
        try:
            waited: set[asyncio.Future[Any]] = {task, self._listening}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ConnectionResetError
            return task.result()
        finally:
            task.cancel()

    def close(self) -> None:
        """Hears no more."""
        self._listening.cancel()

    async def _listen(self) -> None:
        said = True
        while said:
            message = await self.socket.receive()
            said = message.type in (WSMsgType.TEXT, WSMsgType.BINARY)
            self.end = None if said else message
            await self._heard.put(message)


async def _turn(dialogue: Dialogue, ear: Ear, line: Line, pace: Pace, pause: Pause | None) -> bool:
    """Says or hears one thing; whether the socket is still open."""
    if pause is not None and pause.wants(dialogue.step):
        await _hold(dialogue, ear, pause)
    turn = dialogue.turn()
    if turn == "listen":
        return await _listen(dialogue, ear)
    wait_s = pace.wait_s(turn.wait_us)
    if wait_s:
        await ear.meanwhile(asyncio.ensure_future(asyncio.sleep(wait_s)))
    if isinstance(turn, Say):
        await ear.socket.send_frame(turn.raw, WSMsgType.TEXT if turn.is_text else WSMsgType.BINARY)
        return True
    dialogue.left(turn)
    await _leave(turn, ear, line)
    return False


async def _hold(dialogue: Dialogue, ear: Ear, pause: Pause) -> None:
    ahead = dialogue.ahead()
    if ahead is None:
        return
    held = Held(dialogue.step, dialogue.where, ahead.answer, is_message=True)
    injection = await ear.meanwhile(asyncio.ensure_future(pause.hold(held)))
    if injection.is_any:
        dialogue.amend(injection.apply(ahead.answer))


async def _listen(dialogue: Dialogue, ear: Ear) -> bool:
    message = await ear.next()
    if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
        dialogue.hear(bytes(message.data), is_text=message.type is WSMsgType.TEXT)
        return True
    await _gone(dialogue, ear, message)
    return False


async def _gone(dialogue: Dialogue, ear: Ear, end: _Message | None) -> None:
    """The client has left, in this way."""
    if end is None or end.type is not WSMsgType.CLOSE:
        dialogue.gone(BROKEN_OFF)
        return
    dialogue.gone(int(end.data or _NO_CODE), str(end.extra or ""))
    await ear.socket.close(drain=False)


async def _leave(how: Leave, ear: Ear, line: Line) -> None:
    if how.code in _UNSENDABLE:
        if line.transport is not None:
            line.transport.close()
        return
    if how.code == _NO_CODE:
        await ear.socket.send_frame(b"", WSMsgType.CLOSE)
        with suppress(TimeoutError):
            await asyncio.wait_for(ear.next(), _GOODBYE_S_MAX)
        return
    await ear.socket.close(code=how.code, message=how.reason)
