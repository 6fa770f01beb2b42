"""What is due by a policy, shown to a person and carried out."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import click

from proxy.commands.runs import distinct
from proxy.options import Shared
from proxy.output import as_json_text, table
from proxy.progress import progress
from proxy.stores import upkeep
from proxy.stores.policy import in_force
from proxy.talk import Talk
from proxy.words import count, moment, printable
from store import database, policies, retention
from store.core.errors import EdgetapeError
from store.core.retention import CLASSES, DataClass, Plan, Policy, Step, plan
from store.erasure import Erasure, ErasureRefused
from store.reader import Reader, RunInfo
from store.retention import Pruning
from store.writer import Writer


@dataclass(frozen=True, slots=True)
class Due:
    """What is due of a store; `runs` are all that it has, by id."""

    policy: Policy
    plan: Plan
    runs: dict[str, RunInfo]


def due(shared: Shared, policy: Policy, kinds: Sequence[DataClass] = CLASSES, keep_last: int = 0) -> Due:
    """What is due now, of these classes. Raises BadPolicy, StoreUnusable."""
    now = datetime.now(UTC)
    with Reader.open(shared.store, shared.keys) as reader:
        runs = {run.id: run for run in reader.runs()}
    with contextlib.closing(database.open_for_reading(shared.store)) as connection:
        loosest = max((policy.cutoff(kind, now) for kind in CLASSES), default="")
        with database.explained(shared.store), database.snapshot(connection):
            found = plan(policy, list(retention.subjects(connection, loosest)), now, keep_last)
    steps = tuple(step for step in found.steps if step.kind in kinds)
    return Due(policy, Plan(steps, found.kept), runs)


def show(shared: Shared, found: Due, *, as_json: bool, done: bool = False) -> None:
    """Prints what is due, or was, and what stays although its time is over."""
    if as_json:
        click.echo(as_json_text(_record(found, done=done)))
        return
    width = distinct(list(found.runs.values()))
    rows = [(*_told(found, step.run, width), _what(step)) for step in found.plan.steps]
    rows += [(*_told(found, run, width), f"stays: {printable(why, one_line=True)}") for run, why in found.plan.kept]
    if rows:
        table(shared.color, ("run", "name", "ended", "what"), rows)


def carry_out(shared: Shared, talk: Talk, found: Due, by: str, reason: str | None = None) -> int:
    """Does what is due, one run after the other; how many of them were refused, which is said.

    Raises StoreUnusable, KeyUnavailable.
    """
    refused = 0
    total = len(found.plan.steps)
    with upkeep.opened(talk, shared) as writer:
        policies.note(writer, in_force(shared)).result()
        with progress(talk, "runs", wanted=True) as told:
            for done, step in enumerate(found.plan.steps, start=1):
                refused += not _done(writer, talk, step, found.policy.digest, by, reason or step.why)
                if told is not None:
                    told(done, total)
        try:
            retention.tidy(writer).result()
        except ErasureRefused as error:
            talk.warn(str(error), error.hint)
    return refused


def _done(writer: Writer, talk: Talk, step: Step, policy: str, by: str, reason: str) -> bool:
    try:
        if step.kind == "envelopes":
            retention.prune(writer, Pruning(step.run, by, reason, policy)).result()
        else:
            writer.erase(Erasure(step.run, step.seqs, by, reason, policy), tidy=False).result()
    except EdgetapeError as error:
        talk.error(f"run {step.run} stays: {error}", error.hint)
        return False
    return True


def _what(step: Step) -> str:
    if step.kind == "envelopes":
        return "leaves the store"
    which = "its bodies" if step.kind == "payloads" else "its receipts"
    return f"{which} are erased"


def _told(found: Due, run: str, width: int) -> tuple[str, str, str]:
    info = found.runs.get(run)
    name, ended = ("", "") if info is None else (info.name, moment(info.closed) if info.closed else "")
    return run[:width], printable(name, one_line=True), ended


def _record(found: Due, *, done: bool) -> dict[str, object]:
    return {
        "policy": found.policy.digest,
        "due": [
            {
                "run": step.run,
                "name": found.runs[step.run].name or None if step.run in found.runs else None,
                "class": step.kind,
                "age": step.age,
                "events": None if step.seqs is None else list(step.seqs),
            }
            for step in found.plan.steps
        ],
        "kept": [{"run": run, "why": why} for run, why in found.plan.kept],
        "done": done,
    }


def summed(found: Due) -> str:
    """`3 runs leave, bodies of 2 are erased`."""
    leaving = sum(step.kind == "envelopes" for step in found.plan.steps)
    erased = len({step.run for step in found.plan.steps if step.kind != "envelopes"})
    leave = "leaves" if leaving == 1 else "leave"
    return f"{count(leaving, 'run')} {leave}, bodies of {count(erased, 'run')} are erased"
