"""Starts the demo's model and tool server, real ones where they can be had, scripted ones marked as such where not."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from examples.demo.tables import compliance_tables
from tests.support.authority import Authority, make_authority
from tests.support.processes import NotReadyError, Running, running_module


@dataclass(frozen=True, slots=True)
class Served:
    """The two servers of the demo: addresses, the root to trust, and what they are in words."""

    model_url: str
    tools_url: str
    ca: Path
    model: str
    tools: str

    @property
    def scripted(self) -> bool:
        """Whether either of them is not the real thing."""
        return any(words.startswith("SCRIPTED") for words in (self.model, self.tools))


def start(stack: ExitStack, folder: Path, scripted: bool) -> Served:
    """Start both servers in `folder`; they end with the stack. `scripted` asks for no real one."""
    model_url, model = _model(stack, folder, scripted)
    tools_url, ca, tools = _tools(stack, folder / "tools", scripted)
    return Served(model_url, tools_url, ca, model, tools)


def _model(stack: ExitStack, folder: Path, scripted: bool) -> tuple[str, str]:
    why = "as asked for"
    if not scripted:
        file = str(folder / "model.gguf")
        try:
            running = stack.enter_context(running_module("examples.demo.model", "--file", file))
        except NotReadyError as error:
            why = _last_line(error)
        else:
            return running.url, "gemma-3-270m on llama.cpp's own server, temperature 1 (real)"
    running = stack.enter_context(running_module("tests.support.provider", "--vary"))
    return running.url, f"SCRIPTED, no model at all: the test suite's provider answers in its place ({why})"


def _tools(stack: ExitStack, folder: Path, scripted: bool) -> tuple[str, Path, str]:
    why = "as asked for"
    if not scripted:
        try:
            running = stack.enter_context(running_module("examples.demo.tools", "--folder", str(folder)))
        except NotReadyError as error:
            why = _last_line(error)
        else:
            return running.url, Path(str(running.ready["ca"])), "Datasette over SQLite, by HTTPS (real)"
    authority = make_authority(folder.resolve() / "authority")
    running = stack.enter_context(_scripted_tools(folder, authority))
    where = "the test suite's provider answers from the same rows, by HTTPS"
    return running.url, authority.root, f"SCRIPTED, no Datasette: {where} ({why})"


def _scripted_tools(folder: Path, authority: Authority) -> AbstractContextManager[Running]:
    leaf = authority.issue()
    tables = folder / "tables.json"
    tables.write_text(json.dumps(compliance_tables()))
    files = ("--tls", str(leaf.certificate), str(leaf.key), "--tables", str(tables))
    return running_module("tests.support.provider", *files)


def _last_line(error: NotReadyError) -> str:
    return (error.said or "it did not start").splitlines()[-1]
