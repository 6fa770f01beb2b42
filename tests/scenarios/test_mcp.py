"""A tool server on stdin and stdout is recorded by one line of configuration, and replayed without being started."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.kept import proven
from tests.scenarios.test_story import CONFINES
from tests.support.command import Command
from tests.support.provider import Provider

AGENT = str(Path(__file__).with_name("tool_agent.py"))
SERVER = str(Path(__file__).with_name("tool_server.py"))


@pytest.fixture
def agent(tmp_path: Path) -> tuple[str, ...]:
    """The agent's command line, its server behind `edgetape mcp`; the MCP client hands the server no variable of ours,
    so where edgetape lies stands in the command.
    """
    launch = f"import sys; sys.path.insert(0, {str(Path(SERVER).parents[2])!r}); from proxy.cli import main; main()"
    shim = (sys.executable, "-c", launch, "mcp", "--", sys.executable, SERVER, str(tmp_path / "starts"))
    return (sys.executable, AGENT, *shim)


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text().splitlines())


def test_a_replay_says_what_the_server_said_and_does_not_start_it(tmp_path: Path, agent: tuple[str, ...]) -> None:
    command = Command(tmp_path)
    recorded = command.run("record", "--", *agent)
    assert recorded.code == 0, recorded.err
    assert "['add', 'clock', 'fail']" in recorded.out
    assert "add 5" in recorded.out
    assert starts(tmp_path) == 1
    replayed = command.run("replay", "last")
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err
    assert starts(tmp_path) == 1
    shown = command.run("show", "last").out
    assert "tools/call add to the tool server tool_server.py" in shown
    proven(tmp_path / "store")


def test_another_argument_is_drift_at_its_step(tmp_path: Path, agent: tuple[str, ...]) -> None:
    command = Command(tmp_path)
    assert command.run("record", "--", *agent).code == 0
    changed = Command(tmp_path, {"AGENT_SECOND": "4"}).run("replay", "last")
    assert changed.code == 40, changed.err
    assert "tools/call add" in changed.err
    assert "/params/arguments/b" in changed.err
    assert starts(tmp_path) == 1


@pytest.mark.skipif(not CONFINES, reason="this system refuses network namespaces")
def test_a_fork_starts_the_server_for_what_a_rule_names_and_tells_it_what_it_missed(
    tmp_path: Path, agent: tuple[str, ...], provider: Provider
) -> None:
    command = Command(tmp_path, {"AGENT_URL": f"{provider.url}/rows"})
    recorded = command.run("record", "--", *agent)
    assert (recorded.code, "add 5" in recorded.out) == (0, True), recorded.err
    rule = "host=tool_server.py tool=add class=write"
    said = command.run("fork", "last", "--at", "3", "--set", "=9", "--yes", "--allow", rule)
    assert (said.code, starts(tmp_path)) == (0, 2), said.err
    assert ("add 11" in said.out, "add 5" in said.out) == (True, False)
    clocks = [line for line in said.out.splitlines() if line.startswith("clock")]
    assert clocks == [line for line in recorded.out.splitlines() if line.startswith("clock")]
    replayed = command.run("replay", "last:fork")
    assert (replayed.code, replayed.out, starts(tmp_path)) == (0, said.out, 2), replayed.err


def test_elsewhere_messages_just_pass(tmp_path: Path, agent: tuple[str, ...]) -> None:
    plain = Command(tmp_path).environment
    done = subprocess.run(agent, env=plain, capture_output=True, text=True, timeout=60, check=False)
    assert "add 5" in done.stdout
    assert "no recording is under way" in done.stderr


def test_a_server_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    asked = '{"jsonrpc":"2.0","id":1,"method":"x"}\n'
    said = Command(tmp_path).run("mcp", "--", str(tmp_path / "nothing"), given=asked)
    assert said.code == 127
    assert "cannot be run" in said.err
    assert Command(tmp_path).run("mcp").code == 2
