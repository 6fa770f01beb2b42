"""`edgetape retention`: what the policy of the settings file asks for, by class of what is kept (docs/retention.md)."""

import click

from proxy.border import Misuse, Verb
from proxy.options import Shared, options
from proxy.talk import Talk

_EPILOG = """\b
The settings file, edgetape.toml in the user configuration folder or --config FILE:
    [retention]
    envelopes = "5y"   the whole run leaves the store
    payloads = "1y"    its bodies are erased; what happened stays
    receipts = "7y"    the bodies that prove what was done outside, kept apart from the others
    floor = "6mo"      nothing goes before; also by class: floor = {payloads = "30d"}
A class that is not named is kept for ever.
With --json: {policy, due: [{run, name, class, age, events}], kept: [{run, why}], done}.
"""


@click.group(short_help="Keep each class of data as long as the policy says.")
def command() -> None:
    """Keep envelopes, payloads and receipts as long as the policy of the settings file says, and no longer."""


@command.command(cls=Verb, epilog=_EPILOG)
@options("json")
@click.pass_context
def plan(context: click.Context, as_json: bool) -> int:
    """Say what is due, and do nothing."""
    return _run(context, as_json=as_json)


@command.command(cls=Verb, epilog=_EPILOG)
@options("by", "dry-run", "json")
@click.pass_context
def apply(context: click.Context, by: str, dry_run: bool, as_json: bool) -> int:
    """Do what is due, on record."""
    return _run(context, as_json=as_json, by=None if dry_run else by)


def _run(context: click.Context, *, as_json: bool, by: str | None = None) -> int:
    from proxy.stores import disposal
    from proxy.stores.policy import policy_of
    from store.core.retention import BadPolicy

    shared: Shared = context.obj
    talk = Talk.of(context)
    try:
        policy = policy_of(shared)
        found = disposal.due(shared, policy)
    except BadPolicy as error:
        raise Misuse(str(error), hint=error.hint) from error
    if not policy.ages:
        talk.say(f"no policy names an age, so everything is kept: [retention] in {shared.config}")
    refused = 0 if by is None or not found.plan.steps else disposal.carry_out(shared, talk, found, by)
    disposal.show(shared, found, as_json=as_json, done=by is not None and not refused)
    done = "done" if by is not None else "due"
    talk.say(f"{done}: {disposal.summed(found)}" if found.plan.steps else "nothing is due")
    return 1 if refused else 0
