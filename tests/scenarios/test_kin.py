"""Agents under an agent: whom they belong to when they are recorded, and that they replay in any order."""

import sys
from pathlib import Path

import pytest

from store.reader import Reader
from tests.support.command import Command
from tests.support.provider import Provider

# Asks by itself, then as each child that its arguments name, then by itself again.
BOSS = """
import json, sys, urllib.request
def ask(place, run="", body=None):
    asked = urllib.request.Request(sys.argv[1] + place, json.dumps(body).encode() if body else None)
    if body:
        asked.add_header("Content-Type", "application/json")
    if run:
        asked.add_header("X-Edgetape-Run", run)
    return urllib.request.urlopen(asked, timeout=30).status
print(ask("/poll"))
for name in sys.argv[2:]:
    print(ask("/judge", name, {"rows": [], "tone": name}), ask("/poll", name))
print(ask("/poll"))
"""


@pytest.mark.parametrize("order", [("red", "green", "blue"), ("blue", "red", "green")])
def test_children_by_header_belong_to_the_recorded_agent_and_replay_in_any_order(
    tmp_path: Path, provider: Provider, order: tuple[str, ...]
) -> None:
    command = Command(tmp_path)
    agent = [sys.executable, "-c", BOSS, provider.url]
    recorded = command.run("record", "--name", "boss", "--", *agent, "red", "green", "blue")
    assert recorded.code == 0, recorded.err
    with Reader.open(command.store, command.store.parent / "keys") as reader:
        boss = reader.find("boss")
        for name in order:
            parent = reader.find(name).parent
            assert parent is not None
            assert parent.run == boss.id
    said = command.run("replay", "boss", "--", *agent, *order)
    assert said.code == 0, said.err
    assert said.verdict.startswith("REPLAYED: all 8 ")
    fewer = command.run("replay", "boss", "--", *agent, *order[:2])
    assert fewer.code == 42
    assert f"child run {order[2]}" in fewer.verdict
