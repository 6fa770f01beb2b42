"""A replay that somebody attends: where answers are held, and who is asked about them."""

import os
import secrets
import socket
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass

from proxy.border import Misuse
from proxy.talk import Talk
from replay_server.pause import Pause
from store.reasons import reason

TOKEN_VARIABLE = "EDGETAPE_CONTROL_TOKEN"
_FREE = "choose another with --control, or 0 for any free one"


@dataclass(frozen=True, slots=True)
class Sitting:
    """Made before the process is confined: `listener` then is still one of the machine's own loopback."""

    pause: Pause
    listener: socket.socket | None
    token: str = ""

    @classmethod
    def of(cls, *, until: int | None, each: bool, port: int | None) -> "Sitting | None":
        """None where nothing is to be held. Raises Misuse."""
        if until is None and not each:
            if port is not None:
                raise Misuse("--control is for a replay that pauses", hint="add --until N or --step")
            return None
        if port is None:
            if not _has_terminal():
                raise Misuse("there is no terminal to ask at", hint="--control 0 opens a control API instead")
            return cls(Pause(until, each), None)
        try:
            listener = socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise Misuse(f"the control API cannot listen on port {port}: {reason(error)}", hint=_FREE) from error
        # Taken out of the environment: it is none of the agent's.
        return cls(Pause(until, each), listener, os.environ.pop(TOKEN_VARIABLE, "") or secrets.token_urlsafe(16))


async def attended[T](talk: Talk, sitting: Sitting | None, work: Callable[[], Coroutine[object, object, T]]) -> T:
    """The result of `work`, with somebody to ask while it goes on."""
    if sitting is None:
        return await work()
    from proxy.sessions.prompter import Prompter
    from replay_server.console import Console

    async with AsyncExitStack() as stack:
        if sitting.listener is None:
            stack.enter_context(Prompter(sitting.pause, talk))
        else:
            console = Console(sitting.pause, sitting.token)
            await console.start(sitting.listener)
            stack.push_async_callback(console.stop)
            port = sitting.listener.getsockname()[1]
            talk.always(f"edgetape: control API on http://127.0.0.1:{port}, token {sitting.token}")
        return await work()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
