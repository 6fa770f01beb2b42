"""The rules that come with edgetape (agents.toml): what is known to differ between identical runs of known agents.

The file is one TOML document: `schema`, `version` (a number), and `agent`, a list of {name, seen: a version,
user_agent: an expression, ignore: rules, optional: rules}.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from replay_server.rules import Ignore, Optional

SCHEMA = "edgetape/agent-rules/1"
PATH = Path(__file__).with_name("agents.toml")


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """One agent, told by the User-Agent of its requests, and what of them may differ."""

    name: str
    seen: str
    user_agent: re.Pattern[str]
    ignores: tuple[Ignore, ...]
    optionals: tuple[Optional, ...]


@cache
def known_agents() -> tuple[KnownAgent, ...]:
    """Those of the shipped file."""
    document = tomllib.loads(PATH.read_text("utf-8"))
    return tuple(
        KnownAgent(
            name=agent["name"],
            seen=agent["seen"],
            user_agent=re.compile(agent["user_agent"]),
            ignores=tuple(Ignore.parse(rule) for rule in agent["ignore"]),
            optionals=tuple(Optional.parse(rule) for rule in agent["optional"]),
        )
        for agent in document["agent"]
    )


@cache
def version() -> int:
    """The version of the shipped file."""
    return int(tomllib.loads(PATH.read_text("utf-8"))["version"])
