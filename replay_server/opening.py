"""Event 0 of the runs that a replay server opens by itself: a replay of which nothing is known, and child runs."""

from collections.abc import Callable

import store
from store.core.draft import Draft, Sheet
from store.core.model import Agent, Mode, Parent, Policies, RunOpen
from store.core.redact import RULES, Redactor
from store.core.text import Text
from store.labels.classify import RULES as LABEL_RULES

type Opening = Callable[[Parent], Draft]

CHILD = "child"  # the label of a child run that says what its requests call it


def opening(parent: Parent) -> Draft:
    """Of a replay, of which nothing is known but what it replays."""
    return Draft(_opened("replay", parent))


def child_opening(parent: Parent, mode: Mode, tag: str, redactor: Redactor, rules: str = LABEL_RULES) -> Draft:
    """Of a child run of a live mode's run. It has no name: that of a recorded child must go on to mean that one."""
    sheet = Sheet()
    label = [sheet.text(redactor.plain(CHILD)), sheet.text(redactor.plain(tag))]
    return sheet.draft(_opened(mode, parent, [label], rules))


def _opened(mode: Mode, parent: Parent, labels: list[list[Text]] | None = None, rules: str = LABEL_RULES) -> RunOpen:
    return RunOpen(
        origin="",
        mode=mode,
        recorder=f"edgetape/{store.__version__}",
        clock="system",
        policies=Policies(redaction=RULES, classification=rules),
        agent=Agent(),
        labels=labels,
        parent=parent,
    )
