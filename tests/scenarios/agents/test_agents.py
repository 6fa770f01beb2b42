"""Coding agents as people install them: recorded once, replayed three times, and their first change named."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.scenarios.agents.programs import Program, programs
from tests.scenarios.agents.workplace import Workplace
from tests.support.authority import Authority
from tests.support.dialogue import Script, ToolCall

__all__ = ["programs"]
pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

PROMPT = "Write the word gamma into out.txt."
OTHER = "Write the word delta into out.txt."
FINAL = "The word is written."
SHELL = "echo gamma > out.txt && cat out.txt"


@dataclass(frozen=True, slots=True)
class Case:
    """How an agent is started, and what the model that it asks is to make it do.

    `pointer` is where its first request holds the prompt (an expression); `dated` are the options of a replay on
    another day, of an agent that tells its model the day; `openings` is how many requests send the prompt side by side.
    """

    program: Program
    line: Sequence[str]
    calls: Sequence[ToolCall]
    target: str
    pointer: str
    dated: Sequence[str] | None = None
    openings: int = 1
    over_socket: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    home: Mapping[str, str] = field(default_factory=dict)

    def agent(self, program: str, prompt: str) -> list[str]:
        """Its command line."""
        return [program, *(prompt if word == "PROMPT" else word for word in self.line)]


CODEX = Program("npm", "@openai/codex@0", "node_modules/@openai/codex-linux-*/vendor/*/bin/codex")
CODEX_OF_ITS_OWN = """
model = "gpt-5-codex"
approval_policy = "never"
sandbox_mode = "danger-full-access"
"""
CASES = {
    "mini-swe-agent": Case(
        program=Program("pip", "mini-swe-agent>=2.4,<3", "python/bin/mini"),
        line=("-m", "openai/gpt-4o", "-t", "PROMPT", "-y", "--exit-immediately"),
        calls=(
            ToolCall("bash", {"command": SHELL}),
            ToolCall("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}),
        ),
        target="POST /v1/chat/completions",
        pointer="/messages/1/content",
        variables={
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    ),
    "Claude Code": Case(
        program=Program("npm", "@anthropic-ai/claude-code@2", "node_modules/@anthropic-ai/claude-code-linux-*/claude"),
        line=("-p", "PROMPT", "--allowedTools", "Bash,Read,Write", "--output-format", "json"),
        calls=(ToolCall("Bash", {"command": SHELL, "description": "Write a word"}),),
        target="POST /v1/messages?beta=true",
        pointer="/messages/0/content/[0-9]+/text",
        dated=(),
        variables={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"},
    ),
    "Gemini CLI": Case(
        program=Program("npm", "@google/gemini-cli@0", "node_modules/.bin/gemini"),
        line=("-p", "PROMPT", "--yolo", "-m", "gemini-2.5-flash"),
        calls=(ToolCall("run_shell_command", {"command": SHELL, "description": "Write a word"}),),
        target="POST /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        pointer="/contents/0/parts/[0-9]+/text",
        dated=(),
        variables={"GEMINI_API_KEY": "AIza-test", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        home={
            ".gemini/settings.json": """
{"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false}}
"""
        },
    ),
    "opencode": Case(
        program=Program("npm", "opencode-ai@1", "node_modules/opencode-linux-*/bin/opencode"),
        line=("run", "-m", "anthropic/claude-sonnet-4-5", "PROMPT"),
        calls=(ToolCall("bash", {"command": SHELL, "description": "Write a word"}),),
        target="POST /v1/messages",
        pointer="/messages/0/content/[0-9]+/text",
        dated=(),
        openings=2,  # a title is asked for beside the first turn
        variables={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        home={"config/opencode/opencode.json": '{"permission": {"bash": "allow"}}'},
    ),
    "Codex": Case(
        program=CODEX,
        line=("exec", "--skip-git-repo-check", "--json", "PROMPT"),
        calls=(ToolCall("exec_command", {"cmd": SHELL}),),
        target="POST /v1/responses",
        pointer="/input/[0-9]+/content/0/text",
        dated=("--ignore", "body /input/*/content/*/text matches (?<=<timezone>)[^<]+"),
        home={
            ".codex/config.toml": """
model = "gpt-5-codex"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "https://api.openai.com/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""
        },
    ),
    "Codex over a WebSocket": Case(
        program=CODEX,
        line=("exec", "--skip-git-repo-check", "--json", "PROMPT"),
        calls=(ToolCall("exec_command", {"cmd": SHELL}),),
        target="response.create",
        pointer="/input/[0-9]+/content/0/text",
        over_socket=True,
        variables={"CODEX_API_KEY": "sk-test"},
        home={".codex/config.toml": CODEX_OF_ITS_OWN},
    ),
    "Codex falling back to HTTPS": Case(
        program=CODEX,
        line=("exec", "--skip-git-repo-check", "--json", "PROMPT"),
        calls=(ToolCall("exec_command", {"cmd": SHELL}),),
        target="POST /v1/responses",
        pointer="/input/[0-9]+/content/0/text",
        variables={"CODEX_API_KEY": "sk-test"},
        home={".codex/config.toml": CODEX_OF_ITS_OWN},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_coding_agent_replays_three_times_and_another_prompt_is_named(
    name: str, programs: Path, tmp_path: Path, upstream_authority: Authority
) -> None:
    case = CASES[name]
    program = case.program.at(programs)
    place = Workplace.make(tmp_path, case.variables, case.home)
    script = Script(case.calls, FINAL, careful=True)
    agent = case.agent(program, PROMPT)
    recorded, asked = place.record(agent, script, upstream_authority, over_socket=case.over_socket)
    assert recorded.code == 0, recorded.err
    assert asked.count(case.target) == case.openings + 1, asked
    assert place.written() == "gamma\n"
    prompted = place.steps_to("/v1/responses") if case.over_socket else place.steps_that_send(PROMPT)

    for _ in range(3):
        replayed, report = place.replay()
        assert replayed.code == 0, replayed.err
        assert report["confinement"] == "confined"
        assert place.written() == "gamma\n"

    drifted, report = place.replay(*case.agent(program, OTHER))
    assert (drifted.code, report["upstream_connections"]) == (40, 0), drifted.err
    (first,) = report["drifted"]
    assert first["step"] in prompted[: case.openings]
    assert (first["kind"], first["place"]) == ("history", "body")
    assert first["detail"] == "the newest message differs"
    assert re.fullmatch(case.pointer, first["pointer"])
    assert PROMPT in first["recorded"]
    assert OTHER in first["live"]
    assert not place.checkout.joinpath("out.txt").exists()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.dated is not None])
def test_a_coding_agent_replays_on_another_day(
    name: str, programs: Path, tmp_path: Path, upstream_authority: Authority
) -> None:
    case = CASES[name]
    program = case.program.at(programs)
    place = Workplace.make(tmp_path, case.variables, case.home)
    recorded, _ = place.record(case.agent(program, PROMPT), Script(case.calls, FINAL, careful=True), upstream_authority)
    assert recorded.code == 0, recorded.err
    assert case.dated is not None
    replayed, _ = place.replay(options=case.dated, variables={"TZ": other_day()})
    assert replayed.code == 0, replayed.err


def test_codex_on_a_websocket_gets_another_answer_and_goes_on_over_https(
    programs: Path, tmp_path: Path, upstream_authority: Authority
) -> None:
    case = CASES["Codex over a WebSocket"]
    program = case.program.at(programs)
    place = Workplace.make(tmp_path, case.variables, case.home)
    script = Script(case.calls, FINAL, careful=True)
    recorded, _ = place.record(case.agent(program, PROMPT), script, upstream_authority, over_socket=True)
    assert recorded.code == 0, recorded.err
    (step,) = place.steps_to("/v1/responses")
    said = place.messages(step)
    called = next(at for at, one in enumerate(said, 1) if one.get("item", {}).get("type") == "function_call")
    arguments = json.dumps({"cmd": SHELL.replace("gamma", "delta")})
    edit = f"/output/0/arguments={json.dumps(arguments)}"
    line = ("--at", str(step), "--message", str(called), "--set", edit)
    forked = place.fork(Script(case.calls, "Another word.", careful=True), upstream_authority, *line)
    assert forked.code == 0, forked.err
    assert place.written() == "delta\n"
    assert "FORKED at step" in forked.verdict
    assert "Another word." in forked.out


def other_day() -> str:
    """A time zone whose date is not that of UTC now."""
    return "Etc/GMT+12" if datetime.now(UTC).hour < 12 else "Etc/GMT-14"
