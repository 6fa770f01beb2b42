"""A process that writes seeded exchanges into a store and says on stdout what is on disk, until it is done or killed.

`python -m tests.store.writing FOLDER KEYS SEED COUNT` prints one JSON array a line: ["run", id], ["request", n, seq],
["piece", n, part, bytes so far], ["outcome", n, seq], ["closed"].
"""

import json
import random
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from store.core.draft import Draft, Sheet
from store.core.model import HttpRequestEnd
from store.core.redact import stored
from store.drafting.scribe import Part
from store.ticket import Ticket
from tests.support.tape import Call, Tape, opening, seeded, tape

HEAD = b'{"status":200,"http_version":"HTTP/1.1","framing":"chunked","headers":[["content-type","x"]]}'
PIECE_BYTES = 500
_lock = threading.Lock()


def calls(seed: int, count: int) -> list[Call]:
    """What the process with this seed sends."""
    return seeded(random.Random(seed), count)


def main(folder: str, seed: str, count: str) -> None:
    """Writes; the store is in `folder`/store, its key in `folder`/keys."""
    with tape(Path(folder)) as made:
        run, opened = made.writer.open_run(Draft(opening(f"writer {seed}")))
        opened.result(60)
        _say("run", run)
        for number, call in enumerate(calls(int(seed), int(count))):
            last = _exchange(made, run, number, call)
            if number % 7 == 0:
                last.result(60)
        made.writer.close_run(run, "agent_exit").result(60)
    _say("closed")


def _exchange(made: Tape, run: str, number: int, call: Call) -> Ticket:
    streams = number % 3 == 0
    asked = made.request(run, call, streaming=streams)
    _when(asked, lambda seq: _say("request", number, seq))
    if streams:
        _pieces(made, run, number, asked, "upload", call.body)
        sheet = Sheet()
        end = sheet.draft(HttpRequestEnd(req=-1, ended="complete", body=sheet.apart(stored(call.body))))
        made.writer.append(run, end, after=asked)
        made.writer.piece(run, asked, "head", stored(HEAD))
        _pieces(made, run, number, asked, "answer", call.answer or b"")
    answered = made.answer(run, call, asked)
    _when(answered, lambda seq: _say("outcome", number, seq))
    return answered


def _pieces(made: Tape, run: str, number: int, asked: Ticket, part: Part, content: bytes) -> None:
    for start in range(0, len(content), PIECE_BYTES):
        piece = content[start : start + PIECE_BYTES]
        kept = made.writer.piece(run, asked, part, stored(piece))
        _when(kept, partial(_say_piece, number, part, start + len(piece)))
        # As a stream comes: piece by piece, so that a kill finds some of them on disk.
        kept.result(60)


def _say_piece(number: int, part: Part, so_far: int, _: int) -> None:
    _say("piece", number, part, so_far)


def _when(ticket: Ticket, told: Callable[[int], None]) -> None:
    def done(error: Exception | None) -> None:
        if error is None:
            told(-1 if ticket.placed is None else ticket.placed.seq)

    ticket.when_done(done)


def _say(*what: object) -> None:
    with _lock:
        print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
