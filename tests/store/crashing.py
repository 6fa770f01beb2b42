"""A process that forks others and has them die at a step of what they do to a store: a statement, a file, or a moment.

Run as `python -m tests.store.crashing`; reads jobs, one JSON object a line, and writes what became of each. It has no
threads, so forking it is safe; and its children have nothing to load.
"""

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store import custody, retention
from store.bundle.intake import take_in
from store.core.leaf import HoldSet, RunTagged
from store.erasure import Erasure
from store.reader import Reader
from store.retention import Pruning
from store.tagging import tagging
from store.writer import Writer
from tests.support.tape import Call, Tape

CALLS = 6
HOST = "tests.store.crashing"


@dataclass(slots=True)
class Steps:
    """Counts what this process does, and kills it at one step, as kill -9 does; 0 lets it live."""

    deadly: int
    count: int = 0

    def step(self) -> None:
        self.count += 1
        if self.count == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)


def watch(steps: Steps) -> None:
    """Has every statement, and every file that is opened, renamed, removed or flushed, count as a step: before and
    after each statement and flush.
    """

    class Watched(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:  # noqa: ANN401  # as sqlite3 has it
            steps.step()
            done = super().execute(*arguments)
            steps.step()
            return done

        def executemany(self, *arguments: Any) -> sqlite3.Cursor:  # noqa: ANN401
            steps.step()
            done = super().executemany(*arguments)
            steps.step()
            return done

    plain, flush = sqlite3.connect, os.fsync

    def connect(*arguments: Any, **named: Any) -> sqlite3.Connection:  # noqa: ANN401
        return plain(*arguments, **named, factory=Watched)

    def fsync(descriptor: int) -> None:
        steps.step()
        flush(descriptor)
        steps.step()

    sqlite3.connect = connect  # type: ignore[assignment]
    os.fsync = fsync  # type: ignore[assignment]
    files = {"open", "os.rename", "os.remove", "os.mkdir", "os.link", "os.truncate"}
    sys.addaudithook(lambda event, _: steps.step() if event in files else None)


def say(*words: object) -> None:
    """What is acknowledged: written at once, past every buffer that a kill would empty."""
    os.write(1, (json.dumps(words) + "\n").encode())


def append(base: Path) -> None:
    """A run of some exchanges, each waited for."""
    writer = Writer.open(base / "store", base / "keys")
    made = Tape(base / "store", base / "keys", writer)
    run = made.open("crashing")
    for number in range(CALLS):
        call = Call(body=b'{"n":%d}' % number * 40, answer=b'{"a":%d}' % number * 40)
        asked = made.request(run, call)
        for ticket in (asked, made.answer(run, call, asked)):
            ticket.result(60)
            say("event", run, ticket.seq)
    closed = writer.close_run(run, "normal")
    closed.result(60)
    say("closed", run, closed.seq)
    writer.close()


def checkpoint(base: Path) -> None:
    """Signs again and again; what was signed is acknowledged by its size."""
    writer = Writer.open(base / "store", base / "keys")
    made = Tape(base / "store", base / "keys", writer)
    run = made.open("crashing")
    for number in range(CALLS):
        made.note(run, b"%d" % number)
        writer.checkpoint().result(60)
        reader = sqlite3.connect(base / "store" / "edgetape.db")
        say("signed", reader.execute("SELECT MAX(size) FROM checkpoints").fetchone()[0])
        reader.close()
    writer.close()


def rotation(base: Path) -> None:
    """Goes over to another key, twice, and revokes the first."""
    first = str(custody.show(base / "store", base / "keys")[1][0].term.key)
    for _ in range(2):
        say("key", str(custody.rotate(base / "store", base / "keys")))
    custody.revoke(base / "store", base / "keys", first, "lost")
    say("revoked", first)


def intake(base: Path) -> None:
    """Takes in the bundle that lies beside the store."""
    writer = Writer.open(base / "store", base / "keys")
    say("imported", take_in(base / "bundle.zip", writer)[1])
    writer.close()


def prune(base: Path) -> None:
    """Takes the runs of the store out, one after the other."""
    writer = Writer.open(base / "store", base / "keys")
    connection = sqlite3.connect(base / "store" / "edgetape.db")
    runs = [run for (run,) in connection.execute("SELECT id FROM runs ORDER BY id")]
    connection.close()
    for run in runs[1:]:
        retention.prune(writer, Pruning(run, "operator", "its time is over")).result(60)
        say("pruned", run)
    retention.tidy(writer).result(60)
    writer.hold(HoldSet(run=runs[0], by="operator", reason="a dispute")).result(60)
    say("held", runs[0])
    writer.close()


def erase(base: Path) -> None:
    """Erases a step of a closed run, a step of an open one, which goes on, and a whole run."""
    writer = Writer.open(base / "store", base / "keys")
    connection = sqlite3.connect(base / "store" / "edgetape.db")
    named = dict(connection.execute("SELECT name, id FROM runs"))
    connection.close()
    made = Tape(base / "store", base / "keys", writer)
    run = made.run([Call(body=b"the first" * 9), Call(body=b"the second" * 9)], "crashing", close=False)
    writer.erase(Erasure(named["one"], (3, 4), "operator", "a reason")).result(60)
    say("erased", "one")
    writer.erase(Erasure(run, (1, 2), "operator", "a reason")).result(60)
    say("erased", "crashing")
    made.note(run, b"it goes on").result(60)
    writer.erase(Erasure(named["two"], None, "operator", "a reason")).result(60)
    say("erased", "two")
    writer.close()


def rewrap(base: Path) -> None:
    """Goes over to another store key, twice; the newest file is acknowledged."""
    for _ in range(2):
        say("store key", str(custody.rotate_store_key(base / "store", base / "keys")[1].file))


def remark(base: Path) -> None:
    """Says things about runs, one that has an end and one that goes on: annotations, tags, holds and notes."""
    writer = Writer.open(base / "store", base / "keys")
    made = Tape(base / "store", base / "keys", writer)
    with Reader.open(base / "store", base / "keys") as reader:
        one = reader.find("one").id
    run = made.open("crashing")
    for number in range(3):
        made.note(run, b"note %d" % number).result(60)
        for about in (one, run):
            at = made.annotate(about, 1, f"remark {number}" * 40, number - 1 if number else None)
            say("annotated", about, at, f"remark {number}" * 40)
        tag = RunTagged(run=one, by="operator", key=f"k{number}", text="v")
        writer.change(tagging([tag])).result(60)
        say("tagged", one, tag.key)
        writer.hold(HoldSet(run=run, by="operator", reason="a dispute")).result(60)
        say("held", run)
    writer.close()


ACTIONS: dict[str, Callable[[Path], None]] = {
    action.__name__: action for action in (append, checkpoint, rotation, intake, prune, erase, rewrap, remark)
}


def child(job: dict[str, Any]) -> None:
    """Does one job, and dies in it or says how many steps it took."""
    steps = Steps(job["step"])
    if job["after_s"]:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process wherever it is, and nothing is tidied up
        signal.setitimer(signal.ITIMER_REAL, job["after_s"])
    watch(steps)
    ACTIONS[job["action"]](Path(job["base"]))
    say("steps", steps.count)


def told(job: dict[str, Any]) -> dict[str, object]:
    """What a child acknowledged, and the signal that it died of; 0 for one that lived."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(into, 1)
        os.close(out)
        try:
            child(job)
        finally:
            os._exit(3 if sys.exc_info()[0] else 0)
    os.close(into)
    with os.fdopen(out) as lines:
        said = [json.loads(line) for line in lines if line.endswith("\n")]
    status = os.waitpid(pid, 0)[1]
    return {"said": said, "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "code": status >> 8}


def main() -> None:
    """One job a line, until there are no more."""
    for line in sys.stdin:
        print(json.dumps(told(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
