"""`edgetape prune`: old runs leave the store, on record (docs/retention.md)."""

import sys
from typing import TypedDict, Unpack

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.talk import Talk
from proxy.words import count

_EPILOG = """\b
What leaves: runs that ended longer ago than AGE (90d, 12w, 6mo, 5y), but the N newest; with --keep-last alone, those
older than the policy's floor, which is six months unless the settings file says otherwise.
What stays: runs that are open, held or damaged, and those that a run which stays goes on from.
Exit codes: 0 done, or nothing to do; 1 some were refused; 2 usage; 3 could not run.
With --json: {policy, due: [{run, name, class, age, events}], kept: [{run, why}], done}.
"""


class Given(TypedDict):
    """The options as click gives them."""

    older_than: str | None
    keep_last: int | None
    reason: str | None
    by: str
    dry_run: bool
    yes: bool
    as_json: bool


@click.command(cls=Verb, short_help="Take old runs out of the store, on record.", epilog=_EPILOG)
@options("older-than", "keep-last", "why", "by", "dry-run", "yes", "json")
@click.pass_context
def command(context: click.Context, **given: Unpack[Given]) -> int:
    """Take runs out of the store that are older than AGE, or are not among the N newest, with all that they have."""
    older_than, keep_last, as_json = given["older_than"], given["keep_last"], given["as_json"]
    if older_than is None and keep_last is None:
        raise Misuse("which runs?", hint="edgetape prune --older-than 1y --keep-last 20 --dry-run")
    from dataclasses import replace

    from proxy.stores import disposal
    from proxy.stores.policy import policy_of
    from store.core.retention import Age, BadPolicy

    shared: Shared = context.obj
    talk = Talk.of(context)
    try:
        policy = policy_of(shared)
        age = policy.floor("envelopes") if older_than is None else Age.parse(older_than)
        policy = replace(policy, ages={**policy.ages, "envelopes": age})
        found = disposal.due(shared, policy, ("envelopes",), keep_last or 0)
    except BadPolicy as error:
        raise Misuse(str(error), hint=error.hint) from error
    number = len(found.plan.steps)
    if given["dry_run"] or not number:
        disposal.show(shared, found, as_json=as_json)
        talk.say(f"{count(number, 'run')} would leave the store")
        return 0
    if not as_json:
        disposal.show(shared, found, as_json=False)
    if not given["yes"] and not (sys.stdin.isatty() and _agreed(number)):
        raise Misuse("nothing was pruned", hint="--yes says that it is meant")
    refused = disposal.carry_out(shared, talk, found, given["by"], given["reason"])
    if as_json:
        disposal.show(shared, found, as_json=True, done=not refused)
    talk.say(f"{count(number - refused, 'run')} left the store, on record")
    return 1 if refused else 0


def _agreed(number: int) -> bool:
    return click.confirm(f"take {count(number, 'run')} out of the store for ever?", err=True)
