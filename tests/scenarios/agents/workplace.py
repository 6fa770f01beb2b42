"""Where an agent works in these tests: a git checkout and a home, put back as they were before each of its runs."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.scenarios.kept import kept
from tests.support.authority import Authority
from tests.support.command import Command, Said
from tests.support.dialogue import Script
from tests.support.processes import running_module
from tests.support.provider import Options, serving
from tests.support.responses_socket import socket_serving

SECONDS_MAX = 150.0
NONE: Mapping[str, str] = MappingProxyType({})
HOSTS = (
    "api.anthropic.com",
    "api.openai.com",
    "chatgpt.com",
    "ab.chatgpt.com",
    "api.github.com",
    "github.com",
    "generativelanguage.googleapis.com",
)


@dataclass(frozen=True, slots=True)
class Workplace:
    """An agent's folder and home below `base`, and the edgetape that records and replays it."""

    base: Path
    variables: Mapping[str, str]

    @classmethod
    def make(cls, base: Path, variables: Mapping[str, str], home_files: Mapping[str, str]) -> "Workplace":
        """Lay out both, as they are to be at the start of every run."""
        for name, text in {"checkout/notes.txt": "alpha\nbeta\n", **_below("home", home_files)}.items():
            path = base / "template" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (base / "template" / "home").mkdir(exist_ok=True)
        checkout = base / "template" / "checkout"
        _git(checkout, "init", "-q", "-b", "main")
        _git(checkout, "add", ".")
        _git(checkout, "commit", "-q", "-m", "notes")
        return cls(base, variables)

    @property
    def checkout(self) -> Path:
        return self.base / "checkout"

    @property
    def home(self) -> Path:
        return self.base / "home"

    def refresh(self) -> None:
        """Put checkout and home back."""
        for folder in (self.checkout, self.home):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.base / "template" / folder.name, folder, symlinks=True)

    def record(
        self, agent: Sequence[str], script: Script, authority: Authority, *, over_socket: bool = False
    ) -> tuple[Said, list[str]]:
        """One recording, the scripted provider standing for every server; and what the provider was asked for."""
        self.refresh()
        with (_socket_world if over_socket else _world)(script, authority) as (proxy, seen):
            variables = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy}
            said = self._run("record", "--upstream-ca", str(authority.root), "--", *agent, variables=variables)
            return said, seen()

    def replay(
        self, *agent: str, options: Sequence[str] = (), variables: Mapping[str, str] = NONE
    ) -> tuple[Said, dict[str, Any]]:
        """One replay in a checkout and a home as they were; and its report."""
        self.refresh()
        report = self.base / "report.json"
        report.unlink(missing_ok=True)
        line = ("--", *agent) if agent else ()
        said = self._run("replay", "last", "--report", str(report), *options, *line, variables=variables)
        return said, json.loads(report.read_text()) if report.exists() else {}

    def fork(self, script: Script, authority: Authority, *options: str) -> Said:
        """One fork of the newest recording, with a provider that is asked over HTTPS alone."""
        self.refresh()
        with _world(script, authority) as (proxy, _):
            variables = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy}
            line = ("fork", "last", "--yes", "--upstream-ca", str(authority.root), *options)
            return self._run(*line, variables=variables)

    def messages(self, step: int) -> list[dict[str, Any]]:
        """What was said on the WebSocket that a step opened."""
        shown: dict[str, Any] = json.loads(self._run("show", "last", str(step), "--json", variables=NONE).out)
        return [json.loads(message["body"]["text"]) for message in shown["messages"]]

    def steps_that_send(self, text: str) -> list[int]:
        """The steps of the recording whose request has this text in its body."""
        sent = text.encode()
        return [step for step, one in enumerate(kept(self.base / "store"), start=1) if sent in one.sent]

    def steps_to(self, path: str) -> list[int]:
        """The steps of the recording that ask for an address with this end."""
        return [step for step, one in enumerate(kept(self.base / "store"), start=1) if one.place.endswith(path)]

    def written(self) -> str:
        """What the agent left in out.txt."""
        return (self.checkout / "out.txt").read_text()

    def _run(self, *arguments: str, variables: Mapping[str, str]) -> Said:
        own = {
            "HOME": str(self.home),
            "PWD": str(self.checkout),
            "TERM": "dumb",
            "CI": "1",
            "OPENAI_API_KEY": "sk-test",
        }
        own |= {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE", "STATE")}
        command = Command(self.base, {**own, "ANTHROPIC_API_KEY": "sk-ant-test", **self.variables, **variables})
        done = subprocess.run(
            command.line(*arguments),
            cwd=self.checkout,
            env=command.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)


@contextmanager
def _world(script: Script, authority: Authority) -> Iterator[tuple[str, Any]]:
    """A proxy behind which one scripted provider stands for every server; its address, and what was asked so far."""
    issued = authority.issue(*HOSTS)
    with (
        serving(Options(tls=(issued.certificate, issued.key), script=script)) as provider,
        running_module("tests.support.forward_proxy", "--to", str(provider.port)) as proxy,
    ):
        yield proxy.url, lambda: [f"{seen.method} {seen.target}" for seen in provider.seen()]


@contextmanager
def _socket_world(script: Script, authority: Authority) -> Iterator[tuple[str, Any]]:
    """The same with a provider that is asked over a WebSocket; what was asked are its messages that want an answer."""
    issued = authority.issue(*HOSTS)
    with (
        socket_serving((issued.certificate, issued.key), script) as provider,
        running_module("tests.support.forward_proxy", "--to", str(provider.port)) as proxy,
    ):
        yield proxy.url, lambda: [str(body["type"]) for body in provider.asked if body.get("generate") is not False]


def _below(folder: str, files: Mapping[str, str]) -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in files.items()}


def _git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)
