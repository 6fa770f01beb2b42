"""The policies that an operator sets: `edgetape.toml`, read and checked (docs/retention.md)."""

import hashlib
import tomllib
from collections.abc import Mapping

from proxy.options import Shared
from store.core.leaf import PolicyKind
from store.core.redact import RULES
from store.core.retention import CLASSES, Age, BadPolicy, DataClass, Policy

_FLOOR = "floor"


def policy_of(shared: Shared) -> Policy:
    """The retention policy in force: that of the settings file, or the default one where nobody made a file.

    Raises BadPolicy.
    """
    path = shared.config
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        if shared.is_default("config"):
            return Policy()
        raise BadPolicy(f"there is no settings file {path}", hint="name another with --config") from None
    except OSError as error:
        raise BadPolicy(f"the settings file {path} cannot be read: {error.strerror}") from error
    try:
        return parsed(raw)
    except BadPolicy as error:
        raise BadPolicy(f"{path}: {error}", hint=error.hint) from error


def parsed(raw: bytes) -> Policy:
    """The policy that a settings file spells. Raises BadPolicy."""
    try:
        document = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadPolicy(f"no TOML: {error}") from error
    document.pop("replay", None)  # `proxy/configuration` reads that one
    table = document.pop("retention", {})
    if document or not isinstance(table, dict):
        raise BadPolicy(
            f"it has {', '.join(document) or 'no table retention'}", hint="the tables are [retention] and [replay]"
        )
    floor = table.pop(_FLOOR, {})
    floors = _ages(floor if isinstance(floor, dict) else dict.fromkeys(CLASSES, floor), f"retention.{_FLOOR}")
    return Policy(_ages(table, "retention"), floors, hashlib.sha256(raw).hexdigest())


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
