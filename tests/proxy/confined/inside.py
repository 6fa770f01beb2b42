"""A command that confines itself, runs an agent inside as a replay does, and reports what wanted out.

    python -m tests.proxy.confined.inside REPORT [--allow PORT]... -- COMMAND...

REPORT is a file that gets one JSON object; the exit code is the agent's. Without confinement it is 3.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proxy.agent.process import running_agent
from proxy.confined.confinement import Unconfined, enter

ROOT = Path(__file__).resolve().parents[3]
UNCONFINED = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one confined agent did; `attempts` maps the sentence of each attempt to how often it was made."""

    code: int
    out: str
    err: str
    attempts: dict[str, int] = field(default_factory=dict)
    refused_local: dict[str, int] = field(default_factory=dict)
    unconfined: str = ""


def command(report: Path, agent: Sequence[str], allow: Sequence[int] = ()) -> list[str]:
    """The command line; start it in the checkout."""
    allowed = [word for port in allow for word in ("--allow", str(port))]
    return [sys.executable, "-m", "tests.proxy.confined.inside", str(report), *allowed, "--", *agent]


def confined(
    agent: Sequence[str],
    allow: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
    start: Sequence[str] = (),
) -> Outcome:
    """Runs an agent confined, to its end; `start` are words in front of the command line."""
    with tempfile.TemporaryDirectory(prefix="edgetape-test-") as folder:
        Path(folder).chmod(0o777)
        report = Path(folder) / "report"
        done = subprocess.run(
            [*start, *command(report, agent, allow)],
            env=None if environment is None else dict(environment),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        told = json.loads(report.read_text()) if report.exists() else {}
    return Outcome(done.returncode, done.stdout, done.stderr, **told)


def main(arguments: Sequence[str]) -> int:
    at = arguments.index("--")
    report, allow, agent = Path(arguments[0]), [int(port) for port in arguments[2:at:2]], arguments[at + 1 :]
    confinement = enter(allow)
    if isinstance(confinement, Unconfined):
        report.write_text(json.dumps({"unconfined": confinement.reason}))
        return UNCONFINED

    async def run() -> int:
        with running_agent(agent, os.environ) as running:
            return (await running.wait()).code

    code = asyncio.run(run())
    attempts = {str(attempt): count for attempt, count in confinement.counts().items()}
    report.write_text(json.dumps({"attempts": attempts, "refused_local": confinement.refused_local()}))
    confinement.close()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
