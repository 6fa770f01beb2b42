"""The demo's chapters in their order: record, look, prove, replay, drift, a dropped call, a flipped byte."""

from __future__ import annotations

import json
import random
import re
import socket
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from examples.demo import servers, tampering
from examples.demo.edgetape import Done, Edgetape
from examples.demo.telling import Telling

NAME = "contract-review"
LOOKUP_STEP = 8
FIRST_MODEL_STEP = 2
DRIFTED, NEVER_REQUESTED, INVALID = 40, 42, 20


@dataclass(slots=True)
class Story:
    """The state that chapters hand on: the agent's command and what it printed when it was recorded."""

    folder: Path
    telling: Telling
    edgetape: Edgetape
    agent: tuple[str, ...] = ()
    recorded: bytes = b""
    scripted: bool = False

    def tell(self, scripted: bool) -> None:
        """All chapters."""
        with ExitStack() as running:
            with self.telling.chapter("Start a model and a tool server"):
                served = servers.start(running, self.folder, scripted)
                self._introduce(served)
            with self.telling.chapter("Record the agent"):
                self._record(served)
            with self.telling.chapter("Look at what happened"):
                self._look()
            with self.telling.chapter("Prove the recording"):
                self._prove()
        with self.telling.chapter("Replay it with both servers down"):
            self._replay(served)
        with self.telling.chapter("Replay an agent whose system prompt has one other word"):
            self._drift()
        with self.telling.chapter("Replay an agent that leaves the compliance look-up out"):
            self._drop()
        with self.telling.chapter("Flip one random byte in a copy of the store"):
            self._tamper()

    def _introduce(self, served: servers.Served) -> None:
        self.scripted = served.scripted
        self.telling.say(f"model  {served.model_url}  {served.model}")
        self.telling.say(f"tools  {served.tools_url}  {served.tools}")
        module = (sys.executable, "-m", "examples.contract_agent")
        self.agent = (*module, "--model-url", f"{served.model_url}/v1", "--tools-url", served.tools_url)

    def _record(self, served: servers.Served) -> None:
        options = ("--name", NAME, "--upstream-ca", str(served.ca))
        done = self.edgetape.run("record", *options, "--", *self.agent, OPENAI_API_KEY="sk-demo-not-a-real-key")
        self.recorded = done.stdout
        self.telling.promise(done.code == 0, "the agent ran through the recorder and ended well")
        self.telling.promise(b"verdict: low risk" in done.stdout, 'its verdict is "low risk"')

    def _look(self) -> None:
        listed = self.edgetape.run("runs", "--json", quiet=True)
        runs = json.loads(listed.stdout or b"[]")
        self.telling.promise(len(runs) == 1 and runs[0]["name"] == NAME, f"one run is kept, named {NAME}")
        shown = self.edgetape.run("show", "last")
        self.telling.promise(shown.code == 0 and "GB-SCT" in shown.text, "the timeline names the look-up")
        step = self.edgetape.run("show", "last", str(LOOKUP_STEP))
        empty = "requirements.json" in step.text and "[]" in step.text
        self.telling.promise(empty, f"step {LOOKUP_STEP} is the compliance look-up, and its answer is an empty list")

    def _prove(self) -> None:
        done = self.edgetape.run("verify", "last")
        self.telling.promise(done.code == 0 and "VERIFIED" in done.text, "the proof holds")

    def _replay(self, served: servers.Served) -> None:
        down = not any(_answers(url) for url in (served.model_url, served.tools_url))
        self.telling.promise(down, "neither server listens any more")
        done = self.edgetape.run("replay", "last")
        self.telling.promise(done.code == 0, "the replay is clean")
        same = bool(self.recorded) and done.stdout == self.recorded
        self.telling.promise(same, f"the agent printed the same {len(self.recorded)} bytes")

    def _drift(self) -> None:
        done = self._replay_changed("--prompt", "v2")
        self.telling.promise(done.code == DRIFTED, f"exit code {DRIFTED}: drifted")
        self.telling.promise(f"step {FIRST_MODEL_STEP}" in done.text, f"it began at step {FIRST_MODEL_STEP}")
        self.telling.promise("/messages/0/content" in done.text, "the place is /messages/0/content")
        values = "careful" in done.text and "strict" in done.text
        self.telling.promise(values, "both values are named: careful was recorded, strict was asked")

    def _drop(self) -> None:
        done = self._replay_changed("--skip-lookup")
        self.telling.promise(done.code == NEVER_REQUESTED, f"exit code {NEVER_REQUESTED}: never requested")
        named = f"step {LOOKUP_STEP}" in done.text and "never requested" in done.text
        self.telling.promise(named, f"step {LOOKUP_STEP} is named as never requested")

    def _replay_changed(self, *change: str) -> Done:
        return self.edgetape.run("replay", "last", "--", *self.agent, *change)

    def _tamper(self) -> None:
        copy = tampering.copy_store(self.folder / "store", self.folder / "tampered")
        run = json.loads(self.edgetape.run("runs", "--mode", "record", "--json", quiet=True).stdout)[0]
        seq = random.randrange(int(run["events"]))
        here = ("--store", str(copy))
        located = self.edgetape.run(*here, "debug", "locate", run["id"], str(seq), "--json", quiet=True)
        place = random.choice(tampering.read_places(located))
        self.telling.say(tampering.flip(copy / tampering.STORE_FILE, place))
        done = self.edgetape.run(*here, "verify", run["id"])
        self.telling.promise(done.code == INVALID, f"exit code {INVALID}: invalid")
        named = re.search(rf"\bseq {seq}\b", done.text) is not None
        self.telling.promise(named, f"the broken record is named: seq {seq}")
        whole = self.edgetape.run("verify", "last", quiet=True)
        self.telling.promise(whole.code == 0, "the store itself still verifies")


def _answers(url: str) -> bool:
    place = urlsplit(url)
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((place.hostname or "", place.port or 0)) == 0
