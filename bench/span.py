"""What a replay costs beside its answers: opening a long run, a request in it, and the command with a short agent.

python -m bench.span --open FOLDER        opens the run of a store, asks for its beginning, prints figures as JSON
"""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import replay, rivals, size
from bench.asker import HOST, PATH
from bench.verify import spread
from proxy import pace
from replay_server.answer import Live, Reply
from replay_server.collection import no_collection
from replay_server.server import ReplayOptions, ReplayServer
from store.authority import Authority
from store.core.form import Asked, Endpoint
from store.reader import Reader
from store.writer import Writer

_SHORT, _LONG = 1000, 20_000
_ASKED, _WARM = 500, 100
_STEPS = 20
_OPEN_GOAL_S, _GROWTH_GOAL, _WORK_GOAL_S, _START_GOAL_S = 1.0, 1.1, 0.150, 1.0


async def opened(folder: Path) -> None:
    """Opens the run of a store for a replay and asks for its first exchanges; prints both in seconds of CPU."""
    pairs = replay.pairs(_WARM + _ASKED, answer_chars=2000)
    headers = ((b"Content-Type", b"application/json"), (b"Accept", b"*/*"))
    place = Endpoint("POST", "https", HOST, 443, PATH.encode())
    writer = Writer.open(folder / "store", folder / "keys")
    with Reader.open(folder / "store", folder / "keys") as reader:
        began, took = time.process_time(), time.perf_counter()
        run, authority = reader.find("last"), Authority.open_or_create(folder / "authority")
        with no_collection():  # as the command does it
            server = ReplayServer(reader, writer, run, authority, ReplayOptions())
            pace.keep_what_is_loaded()
        figures = {"open_cpu_s": time.process_time() - began, "open_s": time.perf_counter() - took}
        for number, (asked, _) in enumerate(pairs):
            if number == _WARM:
                used = time.thread_time()
            reply = server.session.ask(Asked(place, b"", headers, asked.encode()), Live("POST"), placed=True)
            assert isinstance(reply, Reply)
            reply.sent("complete")
        figures["request_ms"] = (time.thread_time() - used) * 1000 / _ASKED
        await server.stop(None)
    writer.close()
    print(json.dumps(figures))  # noqa: T201  # read by the caller


def commanded(folder: Path, place: Path) -> dict[str, float]:
    """`edgetape replay` with an agent of 20 requests: seconds of CPU until that began (`began_s` by the clock), and of
    work besides."""
    began = time.time()
    before = _children_cpu_s()
    replay.replayed(folder, [sys.executable, "-m", "bench.asker", str(place / "requests"), str(place / "result")])
    told: dict[str, float] = json.loads((place / "result").read_text())
    whole = _children_cpu_s() - before
    work_s = whole - told["own_cpu_s"] - told["server_cpu_s"]
    return {"start_s": told["server_cpu_s"], "began_s": told["began"] - began, "work_s": work_s}


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(tries: int) -> Iterator[str]:
    """The figures as a table in Markdown."""
    with tempfile.TemporaryDirectory() as place:
        stores = {count: Path(place, str(count)) for count in (_SHORT, _LONG, _STEPS)}
        for count, folder in stores.items():
            folder.mkdir()
            replay.record(folder, replay.pairs(count, answer_chars=2000))
        found = {count: [_opened(stores[count]) for _ in range(tries)] for count in (_SHORT, _LONG)}
        said = replay.pairs(_STEPS, answer_chars=2000)
        Path(place, "requests").write_text(json.dumps([asked for asked, _ in said]))
        commands = [commanded(stores[_STEPS], Path(place)) for _ in range(1 + tries)][1:]  # the first one compiles
    short, long = ([each["request_ms"] for each in found[count]] for count in (_SHORT, _LONG))
    opens = [each["open_cpu_s"] for each in found[_LONG]]
    growth = statistics.median(long) / statistics.median(short)
    starts, begins, works = ([each[name] for each in commands] for name in ("start_s", "began_s", "work_s"))
    yield size.line(["what", "measured", "goal"])
    yield "|---|---|---|"
    yield size.line([f"open a run of {_LONG:,} exchanges, s of CPU", _cell(opens, _OPEN_GOAL_S, 2), "< 1"])
    yield size.line([f"a request to a run of {_SHORT:,}, ms of CPU", spread(short, 2), ""])
    missed = "*" if growth > _GROWTH_GOAL else ""
    yield size.line([f"the same of {_LONG:,}", f"{spread(long, 2)}{missed}", f"< {_GROWTH_GOAL} times that"])
    start = f"{_cell(starts, _START_GOAL_S, 2)} [{statistics.median(begins):.1f}]"
    yield size.line(["`edgetape replay` until its agent asks, s of CPU [by the clock]", start, "< 1"])
    work = _cell([1000 * each for each in works], 1000 * _WORK_GOAL_S, 0)
    yield size.line([f"its work after that for {_STEPS} requests, ms of CPU", work, f"< {1000 * _WORK_GOAL_S:.0f}"])


def _opened(folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.span", "--open", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=rivals.offline())
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _cell(values: list[float], goal: float, digits: int) -> str:
    return spread(values, digits) + ("*" if statistics.median(values) > goal else "")


if __name__ == "__main__":
    asyncio.run(opened(Path(sys.argv[2])))
