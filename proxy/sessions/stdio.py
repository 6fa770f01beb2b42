"""Stands between an agent and a tool server that speaks over stdin and stdout, and lets each message be recorded.

Rules kept here:
- A message is passed on once it is on record, byte for byte. One that cannot be recorded is not passed on; who waits
  for an answer gets a failure.
- On replay the server is not started: what it said then comes from the recording. A live mode may have a message
  passed on; the server is started then, and first told what it missed, whose answers nobody gets.
- Without a recording around us messages just pass.
"""

import base64
import contextlib
import http.client
import json
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from proxy.agent.surroundings import Nearby
from store.core import rpc
from store.core.control.calls import HOST
from store.core.errors import EdgetapeError
from store.core.rpc import Direction

POST_S_MAX = 60.0
END_S_MAX = 10.0


class NotKept(EdgetapeError):
    """A message that could not be recorded, or is not answered by the recording."""


class Post:
    """One connection to the recorder, for one thread."""

    def __init__(self, nearby: Nearby, server: str) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection(nearby.host, nearby.port, timeout=POST_S_MAX)
        said = base64.b64encode(f"{nearby.user}:{nearby.password}".encode()).decode()
        self._headers = {"Content-Type": "application/json", "Proxy-Authorization": f"Basic {said}"}

    def tell(self, direction: Direction, line: bytes) -> "Sentence":
        """Hands a message over; what is to become of it. Raises NotKept."""
        message = line.decode("utf-8", "surrogateescape")
        body = json.dumps({"server": self._server, "direction": direction, "message": message}).encode()
        try:
            self._connection.request("POST", f"http://{HOST}/v1/rpc", body, self._headers)
            answer = self._connection.getresponse()
            said = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._connection.close()
            raise NotKept(f"edgetape cannot be reached: {error}") from error
        if answer.status >= 400:
            raise NotKept(str(said.get("detail", f"edgetape said {answer.status}")))
        passes = bool(said.get("forward"))
        texts = said.get("before" if passes else "messages", [])
        return Sentence(passes, [text.encode("utf-8", "surrogateescape") for text in texts])


@dataclass(frozen=True, slots=True)
class Sentence:
    """What becomes of a message: it `passes`, after `lines` were told to the server; or `lines` are the answer."""

    passes: bool
    lines: Sequence[bytes] = ()


_PASSES = Sentence(passes=True)


@dataclass(slots=True)
class Between:
    """The agent on our stdin and stdout, the server under us. `lost` counts the messages that were not kept."""

    argv: Sequence[str]
    server: str
    nearby: Nearby | None
    agent_in: IO[bytes]
    agent_out: IO[bytes]
    lost: int = 0
    failure: str = ""
    _process: subprocess.Popen[bytes] | None = None
    _reader: threading.Thread | None = None
    _speaking: threading.Lock = field(default_factory=threading.Lock)
    _unheard: set[str] = field(default_factory=set)  # the ids of what was asked before, whose answers nobody gets
    _caught_up: threading.Event = field(default_factory=threading.Event)

    def run(self) -> int:
        """Passes messages until the agent has no more; the server's exit code, 0 where it was not run.

        Raises OSError when the server cannot be started.
        """
        post = None if self.nearby is None else Post(self.nearby, self.server)
        try:
            for line in self.agent_in:
                self._to_server(post, line)
        finally:
            code = self._end()
        return code

    def _to_server(self, post: Post | None, line: bytes) -> None:
        said = self._told(post, "to_server", line)
        if said.passes:
            for missed in said.lines:
                self._catch_up(missed)
            self._write(line)
            return
        for answer in said.lines:
            self._speak(answer + b"\n")

    def _catch_up(self, line: bytes) -> None:
        """Tells the server what it missed, and waits for what it says to a request."""
        asked = rpc.message(line)
        if not asked.is_request:
            self._write(line + b"\n")
            return
        self._caught_up.clear()
        self._unheard.add(asked.id)
        self._write(line + b"\n")
        self._caught_up.wait(END_S_MAX)
        self._unheard.discard(asked.id)

    def _told(self, post: Post | None, direction: Direction, line: bytes) -> Sentence:
        if post is None or not line.strip():
            return _PASSES
        try:
            return post.tell(direction, line.rstrip(b"\r\n"))
        except NotKept as error:
            self.lost += 1
            self.failure = str(error)
            waits = rpc.message(line)
            asked = waits.is_request if direction == "to_server" else waits.is_answer
            failure = [rpc.failure(waits.id, f"edgetape stopped this message: {error}")] if asked else []
            return Sentence(passes=False, lines=failure)

    def _write(self, line: bytes) -> None:
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except BrokenPipeError:  # it has ended; the agent sees that its stdout ends
            pass

    def _start(self) -> None:
        self._process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._reader = threading.Thread(target=self._from_server, name="edgetape-tool-server", daemon=True)
        self._reader.start()

    def _from_server(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        post = None if self.nearby is None else Post(self.nearby, self.server)
        for line in self._process.stdout:
            if self._unheard and self._is_unheard(line):
                continue
            said = self._told(post, "to_client", line)
            for each in [line] if said.passes else [answer + b"\n" for answer in said.lines]:
                self._speak(each)
        self._caught_up.set()  # it has ended: nobody waits for it any more

    def _is_unheard(self, line: bytes) -> bool:
        """Whether it belongs to what the agent heard long ago: an answer to it, or a notification on the way to one."""
        said = rpc.message(line)
        if not said.is_answer:
            return not said.is_request
        if said.id not in self._unheard:
            return False
        self._caught_up.set()
        return True

    def _speak(self, line: bytes) -> None:
        with self._speaking:
            try:
                self.agent_out.write(line)
                self.agent_out.flush()
            except BrokenPipeError:  # the agent has gone: its stdin ends next
                pass

    def _end(self) -> int:
        process = self._process
        if process is None:
            return 0
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            code = process.wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            process.terminate()
            code = process.wait()
        if self._reader is not None:
            self._reader.join(END_S_MAX)
        return code if code >= 0 else 128 - code


def named(argv: Sequence[str]) -> str:
    """What a server is called that nobody named: its program, or what a launcher such as npx runs."""
    words = [Path(word).name or word for word in argv if not word.startswith("-")]
    launched = len(words) > 1 and words[0].partition(".")[0].rstrip("0123456789") in _LAUNCHERS
    return words[1] if launched else words[0] if words else "tool server"


_LAUNCHERS = frozenset(("npx", "uvx", "python", "node", "bun", "deno", "uv", "docker", "env"))
