"""The policies that an operator sets: `edgetape.toml`, read and checked (docs/retention.md)."""

import hashlib
from collections.abc import Mapping

from proxy.configuration import content, table
from proxy.options import Shared
from store.core.leaf import PolicyKind
from store.core.redact import RULES
from store.core.retention import CLASSES, DEFAULT, Age, BadPolicy, DataClass, Policy

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
