"""The pytest plugin of edgetape: `pytest --edgetape=MODE` records what tests ask of the network, and replays it.

In the wheel it is edgetape/plugin.py, a module by itself. Rules kept here:
- Nothing of the program is imported: a process of the command `edgetape harness`, one a worker, does all the work.
- It starts with the first test that wants it, and ends with the worker, however that ends.
- A drift fails the test, even if the test passed, or swallowed the answer that said so.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

MODES = ("auto", "replay", "record", "off")
OPTIONS = ("tape", "order", "ignore", "optional", "on_drift", "local", "teardown")
TAPES = "tapes"
PROPERTY = "edgetape"
COMMAND_VARIABLE = "EDGETAPE_COMMAND"
_REPLAY_VARIABLE = "EDGETAPE_REPLAY"
_LATE = "what a fixture asks for after the test counts with @pytest.mark.edgetape(teardown=True)"


class HarnessFailed(Exception):
    """The edgetape command cannot be started, or has said that something cannot be done."""


@dataclass
class Tape:
    """What the fixture `edgetape` gives: the tape's path, and what is done with it ("record", "replay" or "off")."""

    path: Path
    mode: str
    at_teardown: bool = False
    session: str | None = None
    environment: dict[str, str | None] = field(default_factory=dict)

    def __fspath__(self) -> str:
        return str(self.path)


class Harness:
    """One `edgetape harness` process, started when it is first asked."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: Any = None

    def ask(self, **wish: object) -> dict[str, Any]:
        """The answer to a wish. Raises HarnessFailed."""
        try:
            process = self._process or self._start()
            assert process.stdin is not None
            process.stdin.write(json.dumps(wish).encode() + b"\n")
            process.stdin.flush()
            answer = self._heard(process)
        except OSError as error:
            failed = HarnessFailed(f"edgetape cannot be asked: {error}{self._told()}")
            self.close()
            raise failed from None
        except BaseException:
            self.close()  # the next test starts another; this one's next answer might be to another question
            raise
        if "error" in answer:
            raise HarnessFailed(": ".join(filter(None, (answer["error"], answer.get("hint")))))
        return answer

    def close(self) -> None:
        """Ends the process."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.close()
            process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        process.stdout.close()
        self._errors.close()

    def _start(self) -> subprocess.Popen[bytes]:
        said = os.environ.get(COMMAND_VARIABLE)
        beside = shutil.which("edgetape", path=str(Path(sys.executable).parent)) or shutil.which("edgetape")
        if not said and beside is None:
            raise HarnessFailed("the command edgetape is not there: install edgetape where pytest is installed")
        command = [*(shlex.split(said) if said else [str(beside)]), "harness"]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process is
        pipe = subprocess.PIPE
        # A session of its own: Ctrl-C is for pytest, and the end of stdin for the harness.
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._errors, start_new_session=True)
        self._process = process
        if self._heard(process).get("protocol") != 1:
            raise HarnessFailed("the command edgetape is of another version than this plugin")
        return process

    def _heard(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise HarnessFailed(f"edgetape has ended{self._told()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _told(self) -> str:
        if self._errors is None or self._errors.closed:
            return ""
        self._errors.seek(0)
        last = self._errors.read()[-2000:].decode("utf-8", "replace").strip()
        return f": {last}" if last else ""


HARNESS = pytest.StashKey[Harness]()
TAPE = pytest.StashKey[Tape]()
PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --edgetape, and the ini option of that name."""
    told = "record, replay, auto (replay where there is a tape, else record; where CI is set: replay), or off"
    parser.getgroup("edgetape").addoption("--edgetape", choices=MODES, default=None, dest="edgetape_mode", help=told)
    parser.addini("edgetape", f"what to do with tapes where --edgetape is not given: {told}", default="auto")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known, and checks the ini option."""
    config.addinivalue_line("markers", f"edgetape({', '.join(f'{name}=...' for name in OPTIONS)}): see docs/pytest.md")
    if config.getini("edgetape") not in MODES:
        raise pytest.UsageError(f"edgetape = {config.getini('edgetape')}: choose one of {', '.join(MODES)}")
    config.stash[HARNESS] = Harness()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends the harness."""
    if HARNESS in config.stash:
        config.stash[HARNESS].close()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says what happens where it was asked for."""
    mode = config.getoption("edgetape_mode")
    return None if mode is None else f"edgetape: {mode}; tests run in processes of their own: UNCONFINED"


@pytest.fixture
def edgetape(request: pytest.FixtureRequest) -> Iterator[Tape]:
    """Records what this test asks of the network, or answers it from the test's tape."""
    tape, options = _chosen(request.node)
    with pytest.MonkeyPatch.context() as patch:
        if tape.mode != "off":
            _begin(request.config.stash[HARNESS], request.node, tape, options)
        for name, value in tape.environment.items():
            patch.delenv(name, raising=False) if value is None else patch.setenv(name, value)
        patch.setattr("urllib.request._opener", None)  # made at the first urlopen, with the proxies of that test
        request.node.stash[TAPE], request.node.stash[PASSED] = tape, False
        yield tape
        said = _end(request.node, passed=request.node.stash[PASSED])
    if said and tape.at_teardown:  # else the test has not run, and failed for another reason
        pytest.fail(said, pytrace=False)


@pytest.fixture(autouse=True)
def _edgetape_by_mark(request: pytest.FixtureRequest) -> None:
    """A marked test uses the fixture, before the test's own ones."""
    if request.node.get_closest_marker("edgetape") is not None:
        request.getfixturevalue("edgetape")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Judges a test when it has run: a drift fails it."""
    try:
        result = yield
    except BaseException as error:
        said = _end(item, passed=False) if _ends_here(item) else ""
        if said:
            error.add_note(said.partition("\n")[0])
            item.add_report_section("call", "edgetape", said)
        raise
    item.stash[PASSED] = True
    said = _end(item, passed=True) if _ends_here(item) else ""
    if said:
        pytest.fail(said, pytrace=False)
    return result


def _ends_here(item: pytest.Item) -> bool:
    return TAPE in item.stash and not item.stash[TAPE].at_teardown


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was replayed and recorded, also by other workers."""
    kinds = ("passed", "failed", "error", "")  # without a word: a teardown that went well
    told = {
        (report.nodeid, str(said))
        for kind in kinds
        for report in terminalreporter.getreports(kind)
        if isinstance(report, pytest.TestReport)  # a file that cannot be collected is an error, too
        for name, said in report.user_properties
        if name == PROPERTY
    }
    if not told:
        return
    counts = {what: sum(said.startswith(what) for _, said in told) for what in ("replayed", "recorded")}
    terminalreporter.write_line(f"edgetape: {counts['replayed']} replayed (UNCONFINED), {counts['recorded']} recorded")
    for _, said in sorted(told):
        if said.startswith("recorded"):
            terminalreporter.write_line(f"  {said}")


def _chosen(item: pytest.Item) -> tuple[Tape, dict[str, Any]]:
    """The tape of a test and what to do with it; what the marker nearest to the test says."""
    mark = item.get_closest_marker("edgetape")
    options: dict[str, Any] = dict(mark.kwargs) if mark else {}
    odd = [name for name in options if name not in OPTIONS]
    if odd or (mark and mark.args):
        pytest.fail(f"@pytest.mark.edgetape takes {', '.join(f'{name}=' for name in OPTIONS)}", pytrace=False)
    path = item.path.parent / TAPES / f"{_name(str(options.pop('tape', '')).removesuffix('.tape') or _of(item))}.tape"
    late = bool(options.pop("teardown", False))
    mode = item.config.getoption("edgetape_mode") or str(item.config.getini("edgetape"))
    if mode == "auto":
        ci = os.environ.get("CI", "").lower() in ("1", "true")
        mode = "replay" if ci or path.exists() else "record"
    if os.environ.get(_REPLAY_VARIABLE):
        mode = "off"  # all of pytest runs inside a replay, which answers its tests too
    return Tape(path, mode, late), options


def _of(item: pytest.Item) -> str:
    """What a test's tape is called: module, class, function, parameters."""
    return f"{item.path.stem}." + item.nodeid.partition("::")[2].replace("::", ".")


def _name(wanted: str) -> str:
    """A file's name; two names that are spelled alike in it are told apart."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in wanted).strip(".-")[:120]
    spelled = wanted.replace("[", "-").replace("]", "")
    return plain if plain == spelled else f"{plain}-{sha256(wanted.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


def _begin(harness: Harness, item: pytest.Item, tape: Tape, options: dict[str, Any]) -> None:
    told = f"{tape.path}: record it with pytest --edgetape=record {item.nodeid!r}"
    if tape.mode == "replay" and not tape.path.exists():
        pytest.fail(f"edgetape: there is no tape {told}", pytrace=False)
    environment = {name: value for name, value in os.environ.items() if _is_text(name + value)}
    wish: dict[str, Any] = {"tape": str(tape.path), "pid": os.getpid(), "environment": environment}
    if tape.mode == "record":
        options = {name: value for name, value in options.items() if name == "local"}
        wish |= {"name": item.nodeid, "folder": str(item.config.rootpath)}
    answer, failed = {}, ""
    try:
        answer = harness.ask(do=tape.mode, **wish, **options)
    except HarnessFailed as error:
        failed = str(error)
    if failed:  # out here: of how it came nothing is to be told
        pytest.fail(f"edgetape: {failed}", pytrace=False)
    tape.session, tape.environment = answer["session"], answer["environment"]


def _is_text(value: str) -> bool:
    """Whether a value can be said in JSON: the environment may hold bytes that are none."""
    try:
        return bool(value.encode())
    except UnicodeEncodeError:
        return False


def _end(item: pytest.Item, *, passed: bool) -> str:
    """Ends a session, once; what is to be said against the test."""
    tape = item.stash[TAPE]
    session, tape.session = tape.session, None
    if session is None:
        return ""
    try:
        answer = item.config.stash[HARNESS].ask(do="end", session=session, keep=passed)
    except HarnessFailed as error:
        return f"edgetape: {error}"
    shown = os.path.relpath(tape.path, item.config.rootpath)
    if tape.mode == "replay":
        item.user_properties.append((PROPERTY, f"replayed {shown}"))
        if answer["clean"]:
            return ""
        hint = [] if tape.at_teardown or not answer["report"]["never_requested"] else [_LATE]
        return "\n".join([f"edgetape: {shown}: {answer['verdict']}", *answer["lines"][:-1], *hint])
    if answer["tape"]:
        item.user_properties.append((PROPERTY, f"recorded {shown}"))
        return ""
    return f"edgetape: no tape was written: {answer['cause'] or 'the test failed'}; edgetape show {answer['run']}"
