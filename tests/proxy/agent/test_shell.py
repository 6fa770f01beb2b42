"""What is rendered for a shell gives exactly the values back when that shell reads it."""

import shlex
import shutil
import subprocess

import pytest

from proxy.agent.shell import SHELLS, UnknownShell, render

AWKWARD = {
    "PLAIN": "http://run:x@127.0.0.1:8080",
    "EMPTY": "",
    "BLANK": "a b  c",
    "QUOTES": "it's \"so\" `called` 'x'",
    "DOLLAR": "$HOME ${PATH} $(false) %PATH% !1",
    "BACKSLASH": "a\\b\\\\c\\'",
    "LINES": "one\ntwo",
    "LETTERS": "b\u00fccher \u2019",
}


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "fish"])
def test_a_real_shell_reads_every_value_back(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    changes: dict[str, str | None] = {**AWKWARD, "GONE": None}
    script = render(changes, "fish" if shell == "fish" else "bash") + "env -0"
    done = subprocess.run(
        [shell, "-c", script],
        env={"PATH": "/usr/bin:/bin", "GONE": "x", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        timeout=60,
        check=True,
    )
    found = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)
    assert {name: found.get(name) for name in AWKWARD} == AWKWARD
    assert "GONE" not in found


def test_powershell_doubles_every_quote_that_it_knows() -> None:
    written = render({"Q": "it's \u2018so\u2019", "GONE": None}, "powershell")
    assert written == ("$env:Q = 'it''s \u2018\u2018so\u2019\u2019'\nRemove-Item Env:GONE -ErrorAction Ignore\n")


def test_dotenv_quotes_only_what_needs_it_and_leaves_out_what_cannot_be_said() -> None:
    written = render({"P": "http://r:x@h:1", "B": "a b", "Q": 'it\'s "x"\n', "E": "", "GONE": None}, "dotenv")
    assert written == 'P=http://r:x@h:1\nB=\'a b\'\nQ="it\'s \\"x\\"\\n"\nE=\n'


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_line_for_each_variable(shell: str) -> None:
    assert render({"A": "1", "B": "2"}, shell).count("\n") == 2


def test_bash_output_is_safe_to_evaluate() -> None:
    assert shlex.split(render({"X": "'; rm -rf ~; '"}, "bash")) == ["export", "X='; rm -rf ~; '"]


def test_an_unknown_shell_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UnknownShell) as caught:
        render({}, "cmd")
    assert "fish" in caught.value.hint
