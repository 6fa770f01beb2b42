"""Who a run is of: its first event, written before the agent starts and read when the same command runs again."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

import store
from proxy.agent.arguments import redacted
from store.core import redact
from store.core.base import Base
from store.core.draft import Draft, Sheet
from store.core.errors import EdgetapeError
from store.core.model import Agent, Mode, Parent, Policies, RunOpen
from store.core.redact import Redactor
from store.core.redaction.marks import MARK
from store.core.text import Apart, Body, text, text_bytes
from store.reader import Reader

RUN_VARIABLE = "EDGETAPE_RUN"


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a person says of a run before it begins."""

    mode: Mode = "record"
    name: str | None = None
    workflow: str | None = None
    labels: Mapping[str, str] | None = None
    parent: Parent | None = None
    bases: Sequence[Base] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """The command of a recorded run; `credential_names` are the variables of credentials that were set then, `bases`
    the servers that ports stood for.
    """

    argv: tuple[bytes, ...]
    folder: Path | None
    credential_names: tuple[str, ...]
    bases: tuple[Base, ...] = ()

    @property
    def is_redacted(self) -> bool:
        """Whether a secret was taken out of the command, so that it cannot be run again as it stands."""
        return any(MARK.search(argument) for argument in self.argv)


def run_open(
    introduction: Introduction,
    argv: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    rules: str,
    redactor: Redactor | None = None,
) -> Draft:
    """The draft of event 0; `rules` is the version of the labels' rules. Secrets are taken out of all of it, by
    `redactor`, which then knows them when they turn up in the run.
    """
    secrets = redact.credentials(environment)
    redactor = redactor or Redactor(known=redact.secrets_of(environment))
    sheet = Sheet()
    agent = Agent(
        argv=_texts(sheet, redactor, redacted(argv, redactor)),
        cwd=sheet.apart(redactor.plain(str(folder))),
        credential_names=_texts(sheet, redactor, [os.fsencode(name) for name in sorted(secrets)]),
    )
    labels = introduction.labels or {}
    facts = RunOpen(
        origin="",
        mode=introduction.mode,
        recorder=f"edgetape/{store.__version__}",
        clock="system",
        policies=Policies(redaction=redact.RULES, classification=rules),
        agent=agent,
        name=None if introduction.name is None else sheet.text(redactor.plain(introduction.name)),
        workflow=None if introduction.workflow is None else sheet.text(redactor.plain(introduction.workflow)),
        labels=[[sheet.text(redactor.plain(key)), sheet.text(redactor.plain(value))] for key, value in labels.items()]
        or None,
        parent=introduction.parent,
        bases=[str(base) for base in introduction.bases] or None,
    )
    return sheet.draft(facts)


def parent_in(folder: Path, keys: Path, environment: Mapping[str, str]) -> Parent | None:
    """The run that this process is part of, where it lies in the same store: its newest event."""
    outer = environment.get(RUN_VARIABLE)
    if not outer:
        return None
    try:
        with Reader.open(folder, keys) as reader:
            newest = reader.run(outer).events - 1
            return Parent(run=outer, seq=newest, event_hash=reader.event_hash(outer, newest).hex())
    except EdgetapeError:
        return None  # another store's run, or a value that some other program left there


def command_of(reader: Reader, run: str) -> list[str]:
    """The command of a run for people to read, empty when it is not known or erased."""
    try:
        return [argument.decode("utf-8", "backslashreplace") for argument in recorded(reader, run).argv]
    except EdgetapeError:
        return []


def recorded(reader: Reader, run: str) -> Recorded:
    """The command of a run. Raises BodyUnavailable when it is erased, BadBase for one that another edgetape wrote."""
    event = reader.event(run, 0)
    facts = event.facts
    assert isinstance(facts, RunOpen)

    def items(apart: Apart | None) -> list[bytes]:
        spelled = msgspec.json.decode(reader.body(event, apart) or b"[]", type=list[str | Apart])
        return [text_bytes(item) for item in spelled]

    folder = reader.body(event, facts.agent.cwd).decode("utf-8", "surrogateescape")
    names = tuple(name.decode("utf-8", "surrogateescape") for name in items(facts.agent.credential_names))
    bases = tuple(Base.parse(base) for base in facts.bases or ())
    return Recorded(tuple(items(facts.agent.argv)), Path(folder) if folder else None, names, bases)


def _texts(sheet: Sheet, redactor: Redactor, items: Sequence[bytes]) -> Body:
    """A JSON array in one body; an item that is no UTF-8 is spelled as an envelope spells it."""
    spelled = [msgspec.to_builtins(text(item)) for item in items]
    return sheet.apart(redactor.plain(msgspec.json.encode(spelled)))
