"""A process killed at any step of append, checkpoint, rotation, import, pruning, erasure or remarks: nothing is lost.

The store opens, and verifies as it was left (UNSEALED_TAIL at worst) and after the next writer has looked after it.
"""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from store import custody
from store.core import checkpoint
from store.core.draft import commitments
from store.core.event import Event
from store.core.text import Apart
from store.database import FILE_NAME, open_for_reading
from store.log import newest_checkpoint
from store.reader import BodyUnavailable, Reader
from store.verify import Verdict, verify
from store.writer import Writer
from tests.store.bundle.parcel import export
from tests.store.crashing import ACTIONS, HOST
from tests.store.remains import files
from tests.support.processes import ROOT
from tests.support.sample import Sample
from tests.support.tape import Call, tape
from tests.support.verifier import verify as second

type Said = list[list[Any]]


@dataclass(slots=True)
class Host:
    """The process that forks those which die."""

    process: subprocess.Popen[str]

    def run(self, action: str, base: Path, *, step: int = 0, after_s: float = 0.0) -> tuple[Said, int]:
        """What a child had acknowledged, and the signal that it died of."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        job = {"action": action, "base": str(base), "step": step, "after_s": after_s}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        became = json.loads(self.process.stdout.readline())
        assert became["code"] == 0, became
        return became["said"], became["signal"]


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    command = [sys.executable, "-m", HOST]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Host(process)
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three closed runs, and a bundle of a run of another one."""
    base = tmp_path_factory.mktemp("template")
    with tape(base) as made:
        for name in ("one", "two", "three"):
            made.run([Call(body=name.encode() * 50), Call(body=name.encode() * 60)], name)
    with tape(base / "other") as made:
        made.run([Call(body=b"from elsewhere")], "foreign")
        made.writer.checkpoint().result(30)
        (base / "bundle.zip").write_bytes(export(made.folder, "foreign"))
    return base


def sound(verdict: Verdict, *, tail: bool) -> None:
    """Fails unless everything verifies, and nothing but the end of what was being written is unsigned."""
    assert verdict.exit_code == 0, [str(each) for each in verdict.findings]
    flags = set(dict(verdict.flags)) - {"UNATTRIBUTED", "UNWITNESSED", "UNTIMED", "RUNS_PRUNED", "PAYLOADS_ERASED"}
    assert flags <= ({"UNSEALED_TAIL", "OPEN_RUN"} if tail else set())


def appended(base: Path, said: Said) -> None:
    with Reader.open(base / "store", base / "keys") as reader:
        for kind, run, seq in (words for words in said if words[0] in ("event", "closed")):
            assert [event.seq for event in reader.events(run)][: seq + 1] == list(range(seq + 1))
            ending = reader.run(run).reason
            assert ending == "normal" if kind == "closed" else ending in ("normal", "crash_recovered")
        for run in {words[1] for words in said if words[0] == "event"}:
            for event in reader.events(run):
                reader.body(event, getattr(event.facts, "body", None))


def signed(base: Path, said: Said) -> None:
    with closing(open_for_reading(base / "store")) as connection:
        note = newest_checkpoint(connection)
    assert note is not None
    size = checkpoint.parse(note).checkpoint.size
    assert all(size >= words[1] for words in said if words[0] == "signed")


def rotated(base: Path, said: Said) -> None:
    keys = [kept.term for kept in custody.show(base / "store", base / "keys")[1]]
    assert {words[1] for words in said if words[0] == "key"} <= {str(term.key) for term in keys}
    assert all(keys[0].revoked is not None for words in said if words[0] == "revoked")


def imported(base: Path, said: Said) -> None:
    with Reader.open(base / "store", base / "keys") as reader:
        foreign = [run for run in reader.runs() if run.name == "foreign"]
        for run in foreign:  # all of it or none
            assert reader.run(run.id).reason == "agent_exit"
            assert len(list(reader.events(run.id))) == run.events
    for words in said:
        if words[0] == "imported":
            assert [run.id for run in foreign] == words[1]


def pruned(base: Path, said: Said) -> None:
    with Reader.open(base / "store", base / "keys") as reader:
        told, there = reader.standings(), {run.id for run in reader.runs()}
        gone = {run for run, standing in told.items() if standing.pruned is not None}
        assert {words[1] for words in said if words[0] == "pruned"} <= gone
        assert not gone & there
        assert all(reader.standing(words[1]).hold for words in said if words[0] == "held")
    assert dict(verify(base / "store", base / "keys").flags).get("RUNS_PRUNED", 0) == len(gone)


ERASED = {"one": {3, 4}, "two": {0, 1, 2, 3, 4, 5}, "crashing": {1, 2}}


def erased(base: Path, said: Said) -> None:
    """An erasure is done or not done, and what was not to be erased is there; old keys are nowhere."""
    done = set()
    with Reader.open(base / "store", base / "keys") as reader:
        for run in reader.runs():
            gone = {event.seq for event in reader.events(run.id) if not readable(reader, event)}
            assert gone <= ERASED.get(run.name, set()), run.name
            if gone:
                assert gone == {seq for seq in ERASED[run.name] if has_bodies(reader.event(run.id, seq))}
                done.add(run.name)
    assert {words[1] for words in said if words[0] == "erased"} <= done
    with closing(open_for_reading(base / "store")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)
    everything = b"".join(files(base / "store"))
    for name, wrapped in keys_of(base.parent / "whole").items():
        assert [key in everything for key in wrapped] == [name not in done] * 2, (name, done)


def readable(reader: Reader, event: Event) -> bool:
    try:
        for named in commitments(event.facts).values():
            reader.body(event, Apart(body=named))
    except BodyUnavailable:
        return False
    return True


def has_bodies(event: Event) -> bool:
    return bool(commitments(event.facts))


def keys_of(base: Path) -> dict[str, list[bytes]]:
    """The wrapped keys that the runs of the template had, by their names."""
    found: dict[str, list[bytes]] = {}
    with closing(open_for_reading(base / "before")) as connection:
        for name, wrapped in connection.execute("SELECT name, wrapped FROM keys JOIN runs ON id = run"):
            found.setdefault(name, []).append(wrapped)
    return found


def rewrapped(base: Path, said: Said) -> None:
    """Every body opens with the store key in force, and needs none of the others."""
    key = custody.store_key(base / "store", base / "keys")
    assert key is not None
    told = [Path(words[1]) for words in said if words[0] == "store key"]
    assert set(told[:-1]) <= {path for path in key.file.parent.iterdir() if path != key.file}
    for path in key.file.parent.glob("*.storekey"):
        if path != key.file:
            path.unlink()
    with Reader.open(base / "store", base / "keys") as reader:
        assert all(readable(reader, event) for run in reader.runs() for event in reader.events(run.id))


def remarked(base: Path, said: Said) -> None:
    """A remark is there whole or not at all, in order, and what was acknowledged is there."""
    with Reader.open(base / "store", base / "keys") as reader:
        standings = reader.standings()
        for run in reader.runs():
            texts = [each.text for each in reader.annotations(run.id)]
            assert texts == [f"remark {number}" * 40 for number in range(len(texts))]
            told = [words for words in said if words[1] == run.id]
            assert all(texts[words[2]] == words[3] for words in told if words[0] == "annotated")
            assert all((words[2], "v") in standings[run.id].tags for words in told if words[0] == "tagged")
            assert all(standings[run.id].hold for words in told if words[0] == "held")
    remarks = verify(base / "store", base / "keys").remarks
    assert (remarks.word or "VERIFIED", list(remarks.findings)) == ("VERIFIED", [])


CHECKS: dict[str, Callable[[Path, Said], None]] = {
    "append": appended,
    "checkpoint": signed,
    "rotation": rotated,
    "intake": imported,
    "prune": pruned,
    "erase": erased,
    "rewrap": rewrapped,
    "remark": remarked,
}


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("action", ACTIONS)
def test_a_kill_at_any_step_loses_nothing_that_was_acknowledged(
    action: str, host: Host, template: Path, tmp_path: Path, sample: Sample
) -> None:
    source, kills = sample.source(action), sample.count(20, 200)
    shutil.copytree(template, tmp_path / "whole")
    shutil.copytree(template / "store", tmp_path / "whole" / "before")
    said, ended = host.run(action, tmp_path / "whole")
    assert ended == 0
    (total,) = (words[1] for words in said if words[0] == "steps")
    # How much is done at once, and so the number of steps, is a matter of time: the last few may not come again.
    steps = sorted(source.sample(range(1, total - total // 10), min(total // 2, kills * 3 // 4)))
    moments = [source.uniform(0.001, 0.25) for _ in range(kills - len(steps))]
    kept = late = unreached = 0
    for step, after_s in [*((step, 0.0) for step in steps), *((0, moment) for moment in moments)]:
        base = tmp_path / "crashed"
        shutil.copytree(template, base)
        said, ended = host.run(action, base, step=step, after_s=after_s)
        assert ended in (signal.SIGKILL if step else signal.SIGALRM, 0)
        late, unreached = late + (not ended and not step), unreached + (not ended and bool(step))
        kept += sum(words[0] != "steps" for words in said)
        sound(verify(base / "store", base / "keys"), tail=True)
        Writer.open(base / "store", base / "keys").close()
        CHECKS[action](base, said)
        sound(verify(base / "store", base / "keys"), tail=False)
        assert second(base / "store", base / "keys").exit_status == 0
        shutil.rmtree(base)
    assert unreached <= len(steps) // 4
    sample.measured(
        f"{action}: {len(steps) - unreached} kills at {total} steps and {len(moments) - late} at other moments;"
        f" {kept} things acknowledged, 0 lost"
    )


@pytest.mark.timeout(3600)
def test_a_kill_while_a_store_is_made_leaves_one_that_can_be_used(host: Host, tmp_path: Path, sample: Sample) -> None:
    """Until its first run nobody has anything to lose; but the next one must get in, with a key that is there."""
    said, _ = host.run("append", tmp_path / "whole")
    (total,) = (words[1] for words in said if words[0] == "steps")
    first = next(number for number, words in enumerate(said) if words[0] == "event")
    assert first == 0
    steps = sample.source().sample(range(1, total // 2), sample.count(20, 200))
    for step in steps:
        base = tmp_path / "crashed"
        base.mkdir()
        _, ended = host.run("append", base, step=step)
        assert ended == signal.SIGKILL
        with tape(base) as made:
            made.run([Call(body=b"x")], "after")
        sound(verify(base / "store", base / "keys"), tail=False)
        assert (base / "store" / FILE_NAME).stat().st_mode & 0o077 == 0
        shutil.rmtree(base)
    sample.measured(f"making a store: {len(steps)} kills, each time it was usable afterwards")
