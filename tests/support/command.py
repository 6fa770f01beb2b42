"""The `edgetape` command as a process of its own, over a store, keys and authority that belong to one test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.processes import ROOT, Running, running

SECONDS_MAX = 150.0
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def verdict(self) -> str:
        """The last line of stderr."""
        return self.err.rstrip("\n").rpartition("\n")[2]


@dataclass(frozen=True, slots=True)
class Command:
    """Runs `edgetape ARGUMENTS` in `folder`; its store, keys and authority lie there too."""

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What the command is started with: ours without proxies, and where the test's folders are."""
        plain = {
            name: value
            for name, value in os.environ.items()
            if name.upper() not in PROXY_VARIABLES and not name.startswith("EDGETAPE_")
        }
        return {**plain, **self.folders, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **self.variables}

    @property
    def folders(self) -> dict[str, str]:
        """The variables that name the test's folders."""
        return {
            "EDGETAPE_STORE": str(self.folder / "store"),
            "EDGETAPE_KEYS": str(self.folder / "keys"),
            "EDGETAPE_AUTHORITY": str(self.folder / "authority"),
        }

    @property
    def store(self) -> Path:
        """The folder of the recordings."""
        return self.folder / "store"

    def line(self, *arguments: str) -> list[str]:
        """The whole command line."""
        return [sys.executable, "-m", "proxy", *arguments]

    def run(
        self,
        *arguments: str,
        given: str = "",
        env: Mapping[str, str] | None = None,
        seconds_max: float = SECONDS_MAX,
    ) -> Said:
        """Run it to its end; `given` is its stdin, `env` its whole environment instead of the usual one."""
        done = subprocess.run(
            self.line(*arguments),
            cwd=self.folder,
            env=self.environment if env is None else dict(env),
            input=given,
            capture_output=True,
            text=True,
            timeout=seconds_max,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: str) -> object:
        """What it prints with --json; the command must succeed."""
        said = self.run(*arguments, "--json")
        assert said.code == 0, said.err
        return json.loads(said.out)

    def runs(self) -> list[dict[str, Any]]:
        """The runs of the store, newest first."""
        listed = self.json("runs")
        assert isinstance(listed, list)
        return listed

    @contextmanager
    def serving(self, *arguments: str) -> Iterator[Running]:
        """Keep `edgetape proxy --json ARGUMENTS` running while a `with` block lasts."""
        with running(self.line("proxy", "--json", *arguments), self.environment) as process:
            yield process
