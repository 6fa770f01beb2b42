"""Runs the edgetape command for the demo, with store, keys and authority in the demo's own folder."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from examples.demo.telling import Telling
from tests.support.processes import ROOT

COMMAND_S_MAX = 300.0
DROPPED = ("_PROXY", "EDGETAPE_", "SSL_CERT_", "OPENAI_")


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended: its exit code and both outputs."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        """Both outputs, for looking something up in them."""
        return self.stdout.decode(errors="replace") + self.stderr


@dataclass(frozen=True, slots=True)
class Edgetape:
    """The command in one folder: `folder/store`, `folder/keys`, `folder/authority`."""

    folder: Path
    telling: Telling
    more: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Ours without proxies and settings of the user's own, and with the demo's folders."""
        kept = {name: value for name, value in os.environ.items() if not _dropped(name)}
        places = {f"EDGETAPE_{name.upper()}": str(self.folder / name) for name in ("store", "keys", "authority")}
        return {**kept, **places, **self.more}

    def run(self, *words: str, quiet: bool = False, **more: str) -> Done:
        """Run `edgetape WORDS...`, print the command and what it printed unless `quiet`; `more` is environment."""
        self.telling.command(["edgetape", *(_short(word) for word in words)])
        done = subprocess.run(
            [sys.executable, "-m", "proxy", *words],
            cwd=ROOT,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=COMMAND_S_MAX,
        )
        ended = Done(done.returncode, done.stdout, done.stderr.decode(errors="replace"))
        if not quiet:
            self.telling.output(ended.stdout.decode(errors="replace"))
            self.telling.output(ended.stderr)
        return ended


def _dropped(name: str) -> bool:
    """Whether a variable would send the story elsewhere; EDGETAPE_DEBUG may stay."""
    return name != "EDGETAPE_DEBUG" and any(part in name.upper() for part in DROPPED)


def _short(word: str) -> str:
    """The interpreter as a user would type it, files in the checkout by their short path."""
    if word == sys.executable:
        return "python"
    return word.removeprefix(f"{ROOT}/")
