"""Speaks a dialogue with a client, over aiohttp's WebSocket."""

import asyncio
from typing import Literal

from aiohttp import WSMsgType, web

from replay_server.modes import Pace
from replay_server.send import put
from replay_server.sockets.dialogue import Dialogue, Leave, Say
from replay_server.sockets.handshake import head
from store.core.websocket import BROKEN_OFF

_NO_CODE = 1005  # a goodbye without a code; it never stands in a frame (RFC 6455, section 7.4.1)
_UNSENDABLE = (BROKEN_OFF, 1015)
_GOODBYE_S_MAX = 2.0


class Socket(web.WebSocketResponse[Literal[False]]):
    """A WebSocket that is opened with the recorded head, and nothing of aiohttp's own in it."""

    def __init__(self, dialogue: Dialogue, request: web.BaseRequest) -> None:
        offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        super().__init__(timeout=_GOODBYE_S_MAX, protocols=offered, compress=False, max_msg_size=0, decode_text=False)
        self._dialogue = dialogue

    async def _write_headers(self) -> None:
        request = self._req
        assert request is not None
        key = request.headers.get("Sec-WebSocket-Key", "").encode("utf-8", "surrogateescape")
        await put(head(self._dialogue.served, key), request)


async def speak(dialogue: Dialogue, request: web.BaseRequest, pace: Pace) -> web.StreamResponse:
    """The whole life of a socket. A client that leaves without a word cancels this."""
    socket = Socket(dialogue, request)
    try:
        await socket.prepare(request)
    except web.HTTPException:
        dialogue.opening.sent("refused_by_policy")
        raise
    dialogue.opening.sent("complete")
    try:
        while await _turn(dialogue, socket, request, pace):
            pass
    except ConnectionError:
        dialogue.gone(BROKEN_OFF)
    finally:
        dialogue.cut()
    return socket


async def _turn(dialogue: Dialogue, socket: Socket, request: web.BaseRequest, pace: Pace) -> bool:
    """Says or hears one thing; whether the socket is still open."""
    turn = dialogue.turn()
    if turn == "listen":
        return await _listen(dialogue, socket)
    wait_s = pace.wait_s(turn.wait_us)
    if wait_s:
        await asyncio.sleep(wait_s)
    if isinstance(turn, Say):
        await socket.send_frame(turn.raw, WSMsgType.TEXT if turn.is_text else WSMsgType.BINARY)
        return True
    dialogue.left(turn)
    await _leave(turn, socket, request)
    return False


async def _listen(dialogue: Dialogue, socket: Socket) -> bool:
    message = await socket.receive()
    match message.type:
        case WSMsgType.TEXT | WSMsgType.BINARY:
            dialogue.hear(bytes(message.data), is_text=message.type is WSMsgType.TEXT)
            return True
        case WSMsgType.CLOSE:
            dialogue.gone(int(message.data or _NO_CODE), str(message.extra or ""))
        case _:
            dialogue.gone(BROKEN_OFF)
    return False


async def _leave(how: Leave, socket: Socket, request: web.BaseRequest) -> None:
    if how.code in _UNSENDABLE:
        if request.transport is not None:
            request.transport.close()
        return
    if how.code == _NO_CODE:
        await socket.send_frame(b"", WSMsgType.CLOSE)
        await socket.receive(_GOODBYE_S_MAX)
        return
    await socket.close(code=how.code, message=how.reason)
