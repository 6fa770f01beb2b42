"""Answers the lines of a test framework one after another, until there are no more."""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from proxy.border import Misuse
from proxy.discretion import discreet
from proxy.harness import lines
from proxy.harness.lines import LINE_BYTES_MAX, End, Record, Replay, Wish
from proxy.harness.outfits import Outfits
from proxy.harness.terms import Terms
from proxy.options import Shared
from proxy.talk import Talk
from store.core.errors import EdgetapeError, Malformed

if TYPE_CHECKING:
    from proxy.harness.recordings import Recordings
    from proxy.harness.replays import Replays
    from replay_server.server import ReplayServer

type Answer = dict[str, object]


class Desk:
    """What is open in one harness. Recorder and store of tapes are made when they are first needed."""

    def __init__(self, talk: Talk, shared: Shared, terms: Terms, folder: Path) -> None:
        # What only one of the two needs is loaded when it is: mitmproxy takes a second.
        self._folder, self._outfits = folder, Outfits(folder)
        self._talk, self._shared, self._terms = talk, shared, terms
        self._replays: Replays | None = None
        self._recordings: Recordings | None = None
        self._servers: dict[str, ReplayServer] = {}

    async def answer(self, line: bytes) -> Answer:
        """The answer to a line. Nothing that goes wrong ends the harness."""
        try:
            return await self._answer(lines.wish(line))
        except EdgetapeError as error:
            return {"error": discreet(str(error)), "hint": error.hint}
        except Exception as error:  # noqa: BLE001  # the border: the framework hears of it
            return {"error": discreet(f"unforeseen: {type(error).__name__}: {error}"), "hint": ""}

    async def close(self) -> None:
        """Ends every session, and what they went over."""
        for server in self._servers.values():
            await server.stop(None)
        if self._replays is not None:
            self._replays.close()
        if self._recordings is not None:
            await self._recordings.close()

    async def _answer(self, wish: Wish) -> Answer:
        match wish:
            case Replay():
                return await self._replay(wish)
            case Record():
                return await self._record(wish)
            case End():
                return await self._end(wish)

    async def _replay(self, wish: Replay) -> Answer:
        if self._replays is None:
            from proxy.harness.replays import Replays

            self._replays = Replays(self._talk, self._shared, self._folder, self._outfits)
        server, environment = await self._replays.begin(wish)
        self._servers[server.run] = server
        return {"session": server.run, "port": server.port, "environment": environment}

    async def _record(self, wish: Record) -> Answer:
        if self._recordings is None:
            from proxy.harness.recordings import Recordings

            made = Recordings(self._talk, self._shared, self._terms)
            await made.start()
            self._recordings = made
        run, port, environment = await self._recordings.begin(wish, self._outfits)
        return {"session": run, "port": port, "environment": environment}

    async def _end(self, wish: End) -> Answer:
        server = self._servers.pop(wish.session, None)
        if server is not None:
            report = await server.stop(None)
            told = [*report.lines, report.verdict]
            return {
                "clean": report.exit_code == 0,
                "verdict": report.verdict,
                "lines": told,
                "report": report.document,
            }
        if self._recordings is None or not self._recordings.has(wish.session):
            raise Malformed(f"there is no session {wish.session}")
        return await self._recordings.end(wish.session, keep=wish.keep)


async def attend(desk: Desk) -> None:
    """Reads lines from stdin and answers them on stdout, until stdin ends. Raises Misuse where it is no pipe."""
    reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    try:
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    except ValueError:
        raise Misuse("stdin is no pipe", hint="a test framework starts this, and talks to it") from None
    try:
        with contextlib.suppress(BrokenPipeError):
            _say({"protocol": lines.PROTOCOL})
            while line := await _line(reader):
                _say(await desk.answer(line))
    finally:
        await desk.close()


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:
        return b"too long\n"


def _say(answer: Answer) -> None:
    sys.stdout.write(lines.spelled(answer))
    sys.stdout.flush()
