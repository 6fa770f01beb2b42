"""The command line as a whole: help, mistakes, and what leaves when something breaks."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from proxy.border import Verb, Wrapper
from proxy.cli import VERBS, group, run
from proxy.options import Shared
from proxy.settings import SHARED, TABLE
from store.core.errors import EdgetapeError, StoreUnusable, UnknownRun
from tests.proxy.tape import folders, record_tape

ROOT = Path(__file__).parents[2]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_help_lists_every_verb_and_its_exit_code_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "--help")
    assert code == 0
    assert all(f"  {verb}  " in out for verb in VERBS)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "debug"])
def test_every_option_shows_its_environment_variable(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, verb, "--help")
    assert code == 0
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            named = [row.variable for row in TABLE.values() if parameter.opts[0] in row.flags]
            assert any(f"env var: {variable}" in " ".join(out.split()) for variable in named)


def test_an_environment_variable_is_the_twin_of_its_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folders(tmp_path)
    record_tape(place)
    monkeypatch.setenv("EDGETAPE_STORE", str(place.store))
    monkeypatch.setenv("EDGETAPE_JSON", "1")
    code, out, _ = said(capsys, "runs")
    assert code == 0
    assert out.startswith("[")
    assert len({row.variable for row in (*SHARED, *TABLE.values())}) == len(SHARED) + len(TABLE)


def test_a_shared_option_counts_before_and_after_the_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folders(tmp_path)
    record_tape(place)
    monkeypatch.setenv("EDGETAPE_STORE", str(tmp_path / "nowhere"))
    assert said(capsys, "--store", str(place.store), "runs")[0] == 0
    assert said(capsys, "runs", "--store", str(place.store))[0] == 0
    assert said(capsys, "--store", str(tmp_path / "elsewhere"), "runs", "--store", str(place.store))[0] == 0
    assert said(capsys, "runs")[0] == 3


def test_no_verb_is_answered_with_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: edgetape ")


def test_a_mistyped_verb_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "recrod", "--", "true")
    assert (code, out) == (2, "")
    assert err == "edgetape: no such command: recrod; did you mean record?\nhint: edgetape --help\n"


def test_a_wrong_option_is_one_sentence_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "runs", "--frobnicate")
    assert (code, out) == (2, "")
    assert err.startswith("edgetape: no such option")
    assert err.endswith("hint: edgetape runs --help\n")
    assert len(err.splitlines()) == 2


def test_a_store_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "runs", "--store", str(tmp_path / "none"))
    assert (code, out) == (3, "")
    assert err.splitlines()[0] == f"edgetape: there is no store at {tmp_path / 'none'}"
    assert err.splitlines()[1].startswith("hint: ")


def broken(error: BaseException, verb: type[Verb] = Verb) -> int:
    @click.command(cls=verb)
    def command() -> int:
        raise error

    shared = Shared({"quiet": False, "verbose": False, "color": "never"})
    code = command.main([], standalone_mode=False, obj=shared)
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize(
    "error, verb, code",
    [
        (StoreUnusable("the disk is full"), Verb, 3),
        (StoreUnusable("the disk is full"), Wrapper, 125),
        (UnknownRun("no such run"), Wrapper, 2),
        (RuntimeError("surprise"), Wrapper, 125),
        (OSError(28, "No space left on device"), Verb, 3),
        (KeyboardInterrupt(), Verb, 130),
    ],
)
def test_every_error_leaves_as_an_exit_code_and_no_traceback(
    error: BaseException, verb: type[Verb], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert broken(error, verb) == code
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert str(error.strerror if isinstance(error, OSError) else error) in err
    assert bool(err) is not isinstance(error, KeyboardInterrupt)


def test_an_unforeseen_error_says_its_type_and_how_to_see_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(ZeroDivisionError("division by zero"))
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert "EDGETAPE_DEBUG=1" in err
    monkeypatch.setenv("EDGETAPE_DEBUG", "1")
    broken(ZeroDivisionError("division by zero"))
    assert "Traceback" in capsys.readouterr().err


def test_control_characters_in_an_error_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    broken(EdgetapeError("bad \x1b[2J thing", hint="try \x07"))
    assert "\x1b" not in capsys.readouterr().err


def test_a_hint_stays_on_its_line_whatever_a_run_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    broken(UnknownRun("no such run", hint="named runs: two\nlines, ü"))
    assert capsys.readouterr().err.splitlines()[-1] == "hint: named runs: two\\nlines, ü"


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    place = folders(tmp_path)
    record_tape(place)
    command = [sys.executable, "-m", "proxy", *place.options, "show", "contract", "2"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=write_end, stderr=subprocess.PIPE, timeout=60, check=False)
    finally:
        os.close(write_end)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["record", "--help"], ["completion", "bash"]])
def test_a_full_disk_behind_stdout_is_one_sentence(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "proxy", *arguments],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr == b"edgetape: the system says: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
@pytest.mark.parametrize("arguments, code", [(["show", "nobody"], 2), (["record", "--", "sh", "-c", "exit 4"], 4)])
def test_a_full_disk_behind_stderr_changes_no_exit_code(tmp_path: Path, arguments: list[str], code: int) -> None:
    place = folders(tmp_path)
    record_tape(place)
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "proxy", *place.options, *arguments]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=full, timeout=60, check=False)
    assert done.returncode == code


@pytest.mark.parametrize("arguments", [["runs"], ["show", "contract"], ["show", "contract", "1"], ["verify"]])
def test_looking_at_a_store_loads_neither_proxy_nor_server(tmp_path: Path, arguments: list[str]) -> None:
    place = folders(tmp_path)
    record_tape(place)
    script = (
        "import sys; from proxy.cli import run; code = run(sys.argv[1:]);"
        "print(sorted({'mitmproxy', 'aiohttp', 'sqlite_utils'} & set(sys.modules)), code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *place.options, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[] 0"


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "--version")
    assert code == 0
    assert out.startswith("edgetape ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_shell_gets_its_completion_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "completion", shell)
    assert code == 0
    assert "_EDGETAPE_COMPLETE" in out
