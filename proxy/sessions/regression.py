"""Many recordings replayed with today's agent: which are asked for, each in a process of its own, and one report.

Rules kept here:
- A replay passes when nothing differs, and the agent ends with the exit code that was recorded.
- Each has a process, a confinement and a run of its own; nothing is shared but the store.
- Whoever is stopped, by Ctrl-C or TERM, says how far it came and leaves no process and no file behind.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from proxy.border import Misuse
from proxy.since import since
from proxy.stores import tags
from proxy.stores.tapes import is_tape
from store.reader import Reader, RunInfo

GRAVEST = (125, 43, 41, 40, 42)  # of several replays' exit codes, the one that stands first counts
DIFFERS = 1
_CONDITION = re.compile(r"(workflow|name|since|mode|tag)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Case:
    """One recording to be replayed: `word` means it on the command line; its recorded exit code where it is known."""

    word: str
    name: str
    exit_code: int | None = None


type Line = Callable[[Case, Path], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one: the replay's report, None where there is none, and what edgetape and the agent said."""

    case: Case
    code: int
    report: dict[str, object] | None
    said: str

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.report is None:
            lines = self.said.strip().splitlines()
            return lines[-1] if lines else f"no report: exit code {self.code}"
        return str(self.report["verdict"])

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        if self.report is None or not self.verdict.startswith("REPLAYED"):
            return False
        return self.case.exit_code is None or self.report["agent_exit_code"] == self.case.exit_code

    def record(self) -> dict[str, object]:
        """As --json prints it."""
        report = self.report or {}
        return {
            "run": self.case.word,
            "name": self.case.name or None,
            "passed": self.passed,
            "verdict": self.verdict,
            "exit_code": self.code,
            "agent_exit_code": report.get("agent_exit_code"),
            "recorded_exit_code": self.case.exit_code,
            "report": self.report,
        }


def chosen(folder: Path, words: Sequence[str]) -> list[Case]:
    """The recordings that words ask for: conditions that all must hold, runs, and tape files. Raises Misuse."""
    cases = [Case(word, Path(word).stem) for word in words if is_tape(word)]
    said = [(found[1], found[2]) for word in words if (found := _CONDITION.fullmatch(word))]
    conditions = {name: text for name, text in said if name != "tag"}
    wanted = [tags.asked(text) for name, text in said if name == "tag"]
    named = [word for word in words if not is_tape(word) and not _CONDITION.fullmatch(word)]
    if not said and not named:
        return cases
    with Reader.open(folder, folder.parent / "keys") as reader:
        infos = [reader.find(word) for word in named]
        if said:
            standings = reader.standings()
            fitting = [info for info in reader.runs() if _fits(info, conditions)]
            infos += [info for info in fitting if tags.has(standings.get(info.id), wanted)]
    known = {info.id: info for info in infos}
    return [*cases, *(Case(info.id, info.name, info.exit_code) for info in known.values())]


def _fits(info: RunInfo, conditions: dict[str, str]) -> bool:
    earliest = since(conditions["since"], datetime.now(UTC)) if "since" in conditions else ""
    return (
        bool(info.closed)
        and info.mode == conditions.get("mode", "record")
        and info.opened >= earliest
        and fnmatchcase(info.workflow, conditions.get("workflow", "*"))
        and fnmatchcase(info.name, conditions.get("name", "*"))
    )


@contextlib.contextmanager
def workplace(verb: str, stopped: Callable[[], None]) -> Iterator[Path]:
    """A folder that goes with the block; where Ctrl-C or TERM ends that, `stopped` is called first."""
    folder = Path(tempfile.mkdtemp(prefix=f"edgetape-{verb}-"))
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield folder
    except (KeyboardInterrupt, SystemExit):
        stopped()
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
        shutil.rmtree(folder, ignore_errors=True)


def _terminated(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def replayed(
    cases: Sequence[Case], line: Callable[[Case, Path], Sequence[str]], folder: Path, jobs: int
) -> Iterator[Outcome]:
    """Replays the cases, `jobs` at a time, each as it ends; `line` is the command line for one and its report's file.

    Call it in a process with one thread: each replay is a fork of this one, and confines itself.
    """
    waiting = list(enumerate(cases))
    going: dict[int, tuple[Case, Path]] = {}
    try:
        while waiting or going:
            while waiting and len(going) < jobs:
                number, case = waiting.pop(0)
                place = folder / str(number)
                place.mkdir()
                going[_started(line(case, place / "report.json"), place / "said")] = case, place
            pid, status = os.waitpid(-1, 0)
            if pid in going:
                case, place = going.pop(pid)
                yield _outcome(case, place, os.waitstatus_to_exitcode(status))
    finally:
        for pid in going:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)


def _started(words: Sequence[str], said: Path) -> int:
    from proxy import cli

    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid > 0:
        return pid
    code = 125
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _end_with_parent()
        output, nothing = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = cli.run(words)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)  # whatever happens, this child must not go on as if it were the parent


def _end_with_parent() -> None:
    """Whoever is killed takes those down that it started: a comparison must not go on asking models by itself."""
    if sys.platform == "linux":
        from proxy.confined.kernel import signal_when_parent_ends

        signal_when_parent_ends(signal.SIGTERM)


def _outcome(case: Case, place: Path, code: int) -> Outcome:
    try:
        report = json.loads((place / "report.json").read_text("utf-8"))
    except (OSError, ValueError):
        report = None
    said = (place / "said").read_text("utf-8", "replace") if (place / "said").exists() else ""
    return Outcome(case, code, report, said)


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """0 when all passed; else the gravest code of those that did not, or 1 where only the agents ended otherwise."""
    failed = {outcome.code for outcome in outcomes if not outcome.passed}
    return next((code for code in GRAVEST if code in failed), DIFFERS if failed else 0)


def refuse_nothing(cases: Sequence[Case], words: Sequence[str]) -> None:
    """Raises Misuse where no recording is asked for: a regression over nothing must not look like a success."""
    if not cases:
        raise Misuse(f"no recorded run fits {' '.join(words)!r}", hint="edgetape runs lists them")
