"""Environment changes written as a shell, or a dotenv file, reads them back: `edgetape env --shell`."""

import re
from collections.abc import Callable, Mapping
from typing import Literal, get_args

from store.core.errors import EdgetapeError

Shell = Literal["bash", "fish", "powershell", "dotenv"]
SHELLS: tuple[Shell, ...] = get_args(Shell)

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
_POWERSHELL_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")  # all five close a single-quoted string


class UnknownShell(EdgetapeError):
    """A shell that we do not know how to write for."""


def render(env_changes: Mapping[str, str | None], shell: str) -> str:
    """One line a variable, ready for `eval` (bash, zsh, sh), `source` (fish), `Invoke-Expression` or a file.

    A value of None unsets the variable; a dotenv file cannot, so there it is left out. Raises UnknownShell.
    """
    writers: dict[str, Callable[[str, str | None], str]] = {
        "bash": _bash,
        "fish": _fish,
        "powershell": _powershell,
        "dotenv": _dotenv,
    }
    if shell not in writers:
        raise UnknownShell(f"unknown shell: {shell}", hint=f"choose one of {', '.join(SHELLS)}")
    lines = [writers[shell](name, value) for name, value in env_changes.items()]
    return "".join(f"{line}\n" for line in lines if line)


def _bash(name: str, value: str | None) -> str:
    if value is None:
        return f"unset {name}"
    quoted = value.replace("'", "'\\''")
    return f"export {name}='{quoted}'"


def _fish(name: str, value: str | None) -> str:
    if value is None:
        return f"set -e {name}"
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"set -gx {name} '{quoted}'"


def _powershell(name: str, value: str | None) -> str:
    if value is None:
        return f"Remove-Item Env:{name} -ErrorAction Ignore"
    quoted = _POWERSHELL_QUOTES.sub(r"\1\1", value)
    return f"$env:{name} = '{quoted}'"


def _dotenv(name: str, value: str | None) -> str:
    """As python-dotenv and Node's dotenv read it; Docker's --env-file takes only values without quotes."""
    if value is None:
        return ""
    if not value or _PLAIN.fullmatch(value):
        return f"{name}={value}"
    if "'" not in value and "\\" not in value:
        return f"{name}='{value}'"
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{name}="{quoted}"'
