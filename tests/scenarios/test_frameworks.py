"""LangGraph and AG2 agents with an HTTP tool, unmodified, recorded and replayed.

Their packages are no dependency of ours: the test makes an environment for them, and skips where they cannot be had.
EDGETAPE_TEST_AGENTS names the Python of one that is already there.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.dialogue import Script, ToolCall
from tests.support.provider import Options, serving

pytestmark = pytest.mark.soak

PACKAGES = (
    "langgraph>=1.2,<2",
    "langchain>=1.5,<2",
    "langchain-openai>=1.7,<2",
    "ag2[openai]>=1.2,<2",
    "httpx>=0.28,<1",
)
TOOL = '''
import os, httpx
place = os.environ["PROVIDER"]
def lookup(customer: str) -> str:
    """Look a customer up."""
    return httpx.get(f"{place}/customers", params={"name": customer}, timeout=60).text
'''
AGENTS = {
    "LangGraph": TOOL
    + """
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
agent = create_agent(ChatOpenAI(model="gpt-4o", base_url=place + "/v1"), [lookup])
print(agent.invoke({"messages": [("user", "Who is Ada?")]})["messages"][-1].content)
""",
    "AG2": TOOL
    + """
import asyncio
from ag2 import Agent
from ag2.config import OpenAIConfig
async def main():
    agent = Agent("clerk", config=OpenAIConfig(model="gpt-4o", base_url=place + "/v1"), tools=[lookup])
    print(await (await agent.ask("Who is Ada?")).content())
asyncio.run(main())
""",
}
SECONDS_MAX = 270.0  # their imports alone take many seconds on a busy machine
FINAL = "Ada is a customer since 1843."
SCRIPT = Script((ToolCall("lookup", {"customer": "Ada"}),), FINAL)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has the packages."""
    named = os.environ.get("EDGETAPE_TEST_AGENTS")
    if named:
        return named
    folder = tmp_path_factory.mktemp("agents") / "environment"
    uv = str(Path(sys.executable).with_name("uv"))
    made = subprocess.run([uv, "venv", "-q", "-p", sys.executable, str(folder)], check=False)
    had = subprocess.run([uv, "pip", "install", "-q", "-p", str(folder / "bin" / "python"), *PACKAGES], check=False)
    if made.returncode or had.returncode:
        pytest.skip("the agents' packages cannot be had here")
    return str(folder / "bin" / "python")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("agent", AGENTS)
def test_an_unmodified_agent_is_recorded_and_replayed(agent: str, python: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENTS[agent])
    with serving(Options(script=SCRIPT)) as provider:
        command = Command(tmp_path, {"PROVIDER": provider.url, "OPENAI_API_KEY": "sk-test"})
        said = command.run("record", "--", python, "agent.py", seconds_max=SECONDS_MAX)
        assert (said.code, said.out.strip()) == (0, FINAL), said.err
        asked = [seen.target for seen in provider.seen()]
    assert asked == ["/v1/chat/completions", "/customers?name=Ada", "/v1/chat/completions"]
    replayed = command.run("replay", "last", seconds_max=SECONDS_MAX)
    assert (replayed.code, replayed.out.strip()) == (0, FINAL), replayed.err
    assert "REPLAYED: all 3 recorded exchanges" in replayed.verdict, replayed.err
