"""Changes of a real agent as processes: the command line names each with its kind and step, and none where none is."""

import json
import random
import sys
from pathlib import Path

import pytest

from tests.replay_server.mutants import ONE_OF_EACH, Make, swapped_date, swapped_id
from tests.replay_server.recording import Place
from tests.replay_server.taped import Taped, taped, writer
from tests.support.command import Command, Said

# Sends what a file lists, one request after the other, and takes whatever comes back.
PLAYER = """
import json, sys, urllib.error, urllib.request
for step in json.load(open(sys.argv[1])):
    asked = urllib.request.Request(step["url"], step["body"].encode(), dict(step["headers"]), method=step["method"])
    try:
        urllib.request.urlopen(asked, timeout=30).read()
    except urllib.error.HTTPError as error:
        print(error.code)
"""

MUTANTS: dict[str, tuple[str, Make | None, int, str]] = {
    "nothing": ("booking", None, 0, "REPLAYED: all 29 recorded exchanges were asked for and answered"),
    "another id": ("booking", swapped_id, 40, "DRIFTED at step {}: tool arguments, body /"),
    "another date": ("airline", swapped_date, 40, "DRIFTED at step {}: tool arguments, body /"),
    "the system prompt": ("repair", ONE_OF_EACH["the system prompt"], 40, "DRIFTED at step {}: system prompt, body /"),
    "a call less": ("repair", ONE_OF_EACH["a call less"], 42, "NEVER REQUESTED: step {}, POST http://tools.internal"),
    "a tool too early": ("repair", ONE_OF_EACH["a tool too early"], 40, "REORDERED: step {} was asked for before step"),
}


def played(command: Command, run: str, steps: list[Taped]) -> Said:
    """Replays a run with an agent that sends these."""
    path = command.folder / "steps.json"
    headers = [[(name.decode(), value.decode()) for name, value in step.headers] for step in steps]
    listed = [
        {"url": step.url, "method": step.method, "headers": said, "body": step.body}
        for step, said in zip(steps, headers, strict=True)
    ]
    path.write_text(json.dumps(listed))
    serve = ("--on-drift", "serve")
    return command.run("replay", run, *serve, "--", sys.executable, "-c", PLAYER, str(path))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_change_of_an_agent_is_named_by_the_last_line(tmp_path: Path, name: str) -> None:
    tape, make, code, verdict = MUTANTS[name]
    command = Command(tmp_path)
    run = Place(tmp_path).record(writer(taped(tape)))
    steps, step = list(taped(tape)), 0
    if make is not None:
        mutant = make(steps, random.Random(name))
        steps, step = mutant.steps, mutant.found[2]
    said = played(command, run, steps)
    assert said.code == code, said.err
    assert said.verdict.startswith(verdict.format(step)), said.err
