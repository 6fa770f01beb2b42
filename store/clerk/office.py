"""The clerk's process: drafts and writes what the recorder says, and answers when it is on disk.

Rules kept here:
- It ends by the end of its socket, and by no signal that a terminal or a service sends to all: what was said is written
  first. An end without a goodbye is the recorder's crash: the runs stay open for whoever comes next to end.
- Answers go out once a transaction, from the thread that has committed it.
"""

import gc
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from store.clerk import speech
from store.clerk.speech import Ear, Failed, Mouth
from store.core.errors import EdgetapeError, StoreUnusable
from store.database import server
from store.drafting import seen
from store.drafting.desk import Desk
from store.ticket import Ticket
from store.writer import Writer

_READ_BYTES = 256 * 1024
_DESCRIPTORS_MAX = 16
_YOUNG_MAX = 20_000
_TURN_S_MAX = 0.002
_DEAF_TO = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


def main(descriptor: int) -> None:
    """Serves the recorder at the other end of the socket with that descriptor, until it ends."""
    for name in _DEAF_TO:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(_YOUNG_MAX, *gc.get_threshold()[1:])
    sys.setswitchinterval(_TURN_S_MAX)
    with socket.socket(fileno=descriptor) as line:
        serve(line)


def serve(line: socket.socket) -> None:
    """The whole of a clerk's work."""
    said = _said(line)
    first = next(said, None)
    if not isinstance(first, speech.Open):
        return
    try:
        folder = Path(first.folder)
        if first.server is not None:
            password, way = first.server
            server.lead(folder, way, password)
        writer = Writer.open(folder, Path(first.keys))
    except EdgetapeError as error:
        _send(line, speech.Refused(Failed.of(error)))
        return
    office = Office(line, Desk(writer, folder), writer)
    unrecovered = {run: Failed.of(error) for run, error in writer.unrecovered.items()}
    _send(line, speech.Opened(writer.origin, unrecovered, _failed(writer.signing_failure)))
    for message in said:
        if isinstance(message, speech.Close):
            office.close()
            _send(line, speech.Closed(_failed(writer.signing_failure)))
            return
        office.do(message)
    office.leave()


class Office:
    """Does what it is told, and says what has become of it."""

    def __init__(self, line: socket.socket, desk: Desk, writer: Writer) -> None:
        self._line = line
        self._desk = desk
        self._writer = writer
        self._tickets: dict[int, Ticket] = {}
        self._lock = threading.Lock()
        self._done: list[tuple[int, int, bytes]] = []
        self._failed: list[tuple[int, Failed]] = []
        writer.settled = self._tell

    def do(self, said: speech.Asked) -> None:
        """Begins one thing; whatever becomes of it, it is answered."""
        try:
            self._do(said)
        except Exception as error:  # noqa: BLE001  # somebody waits, and others are to go on
            failed = Ticket()
            failed.settle(error)
            self._follow(getattr(said, "number", 0), failed)

    def _do(self, said: speech.Asked) -> None:
        match said:
            case speech.Append(number, run, after, sight):
                kept = isinstance(sight, seen.Request | seen.Tunnel)
                self._follow(number, self._desk.append(run, sight, after=self._of(after)), kept=kept)
            case speech.Keep(number, run, request, part, piece, head):
                self._follow(number, self._desk.piece(run, self._known(request), part, head or piece))
            case speech.Forget(number):
                self._tickets.pop(number, None)
            case speech.Hurry():
                self._writer.hurry()
            case speech.AppendDraft(number, run, after, packed):
                draft = speech.unpacked_draft(packed)
                self._follow(number, self._desk.append(run, draft, after=self._of(after)))
            case speech.OpenRun(number, run, packed):
                self._follow(number, self._desk.open_run(*speech.unpacked_run(packed), run=run)[1])
            case speech.CloseRun(number, run, reason, exit_code):
                self._follow(number, self._desk.close_run(run, reason, exit_code=exit_code))
            case speech.Checkpoint(number):
                self._follow(number, self._desk.checkpoint())
            case speech.Note(number, in_force):
                self._follow(number, self._desk.note(in_force))

    def close(self) -> None:
        """Returns when all is on disk and signed, and said."""
        self._desk.close()
        self._tell()

    def leave(self) -> None:
        """The same after a crash of the recorder."""
        self._desk.leave()

    def _of(self, number: int) -> Ticket | None:
        return self._known(number) if number else None

    def _known(self, number: int) -> Ticket:
        known = self._tickets.get(number)
        if known is None:  # it was let go: nothing can belong to it any more
            known = Ticket()
            known.settle(StoreUnusable("the event before this one was not recorded"))
        return known

    def _follow(self, number: int, ticket: Ticket, *, kept: bool = False) -> None:
        if kept:
            self._tickets[number] = ticket

        def note(error: Exception | None) -> None:
            with self._lock:
                if error is not None:
                    self._failed.append((number, Failed.of(error)))
                elif ticket.placed is None:
                    self._done.append((number, -1, b""))
                else:
                    self._done.append((number, ticket.placed.seq, ticket.placed.hash))
            if not self._writer.is_within:
                self._tell()

        ticket.when_done(note)

    def _tell(self) -> None:
        with self._lock:
            if self._done or self._failed:
                unsigned = _failed(self._writer.signing_failure)
                told = speech.Settled(self._done, self._failed, self._desk.unlabelled, unsigned)
                self._done, self._failed = [], []
                _send(self._line, told)


def _failed(error: EdgetapeError | None) -> Failed | None:
    return None if error is None else Failed.of(error)


def _said(line: socket.socket) -> Iterator[speech.Asked]:
    """What the recorder says, until it has nothing more to say, or is no more."""
    ear: Ear[speech.Asked] = Ear(speech.Asked)
    while True:
        try:
            came, descriptors, *_ = socket.recv_fds(
                line, _READ_BYTES, _DESCRIPTORS_MAX, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
            )
        except ConnectionError:
            return
        ear.descriptors.extend(descriptors)
        if not came:
            return
        heard = list(ear.hear(came))
        if speech.HURRY in heard:
            yield speech.HURRY  # the writer is to know before it finds what it is to hurry with
        yield from heard


def _send(line: socket.socket, told: speech.Told) -> None:
    out = bytearray()
    Mouth().say(told, out)
    try:
        line.sendall(out)
    except OSError:
        return  # the recorder is no more, which reading will tell
