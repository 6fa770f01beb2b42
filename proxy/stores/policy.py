"""The policies that an operator sets: `edgetape.toml`, read and checked (docs/retention.md)."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from proxy.configuration import content, nearest, table
from proxy.options import Shared
from store.core.leaf import PolicyKind
from store.core.redact import RULES
from store.core.retention import CLASSES, DEFAULT, Age, BadPolicy, DataClass, Policy
from store.labels.own import NO_RULES, BadOwnRule, OwnRules
from store.labels.own import parsed as parsed_labels

_FLOOR = "floor"


def policy_of(shared: Shared) -> Policy:
    """The retention policy in force: that of the settings file, or the default one where nobody made a file.

    Raises BadPolicy, Misuse.
    """
    path = shared.config
    if shared.is_default("config") and not path.exists():
        return Policy()
    raw = content(path)
    try:
        return parsed(table(path, raw, "retention"), hashlib.sha256(raw).hexdigest())
    except BadPolicy as error:
        raise BadPolicy(f"{path}: {error}", hint=error.hint) from error


def parsed(said: Mapping[str, object], digest: str = DEFAULT) -> Policy:
    """The policy that the table [retention] spells. Raises BadPolicy."""
    floor = said.get(_FLOOR, {})
    floors = _ages(floor if isinstance(floor, dict) else dict.fromkeys(CLASSES, floor), f"retention.{_FLOOR}")
    ages = _ages({name: text for name, text in said.items() if name != _FLOOR}, "retention")
    return Policy(ages, floors, digest)


def in_force(shared: Shared) -> dict[PolicyKind, str]:
    """The digests or versions of all policies in force, for the log (`store.policies`). Raises BadPolicy."""
    return {"retention": policy_of(shared).digest, "redaction": RULES}


def own_rules(shared: Shared, folder: Path | None = None) -> OwnRules:
    """The rules for hosts of one's own: those of the project that `folder` is in, else those of the settings file.

    Raises BadOwnRule, Misuse.
    """
    return next(rules_at_hand(shared, folder), NO_RULES)


def rules_at_hand(shared: Shared, folder: Path | None = None) -> Iterator[OwnRules]:
    """Those of the project, and those of the settings file, as far as there are any. Raises BadOwnRule, Misuse."""
    places = [] if folder is None else [nearest(folder).path]
    places += [None if shared.is_default("config") and not shared.config.exists() else shared.config]
    for path in filter(None, places):
        try:
            found = parsed_labels(table(path, content(path), "labels"))
        except BadOwnRule as error:
            raise BadOwnRule(f"{path}: {error}", hint=error.hint) from error
        if found.rules:
            yield found


def _ages(table: Mapping[str, object], where: str) -> dict[DataClass, Age]:
    ages: dict[DataClass, Age] = {}
    for name, text in table.items():
        kind = next((each for each in CLASSES if each == name), None)
        if kind is None or not isinstance(text, str):
            raise BadPolicy(
                f"{where}.{name} = {text!r} means nothing", hint=f'{", ".join(CLASSES)}: each an age such as "90d"'
            )
        ages[kind] = Age.parse(text)
    return ages
