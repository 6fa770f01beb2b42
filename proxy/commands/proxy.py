"""`edgetape proxy`: the long-lived recorder for many agents."""

import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import click

from proxy.border import Verb
from proxy.loop import run
from proxy.options import Shared, options
from proxy.settings import PROXY_PORT
from proxy.stores import anchoring, upkeep
from proxy.talk import Talk
from store.clerk.hiring import Hired, hired

if TYPE_CHECKING:
    from proxy.service.terms import Given

_EPILOG = """\b
Each agent names its run in the proxy URL: http://NAME:TOKEN@127.0.0.1:PORT. `edgetape env` prints all that it needs.
A run is closed when nothing came for --idle seconds; the same name later opens a new run.
The table [proxy] of the settings file has the same options, for what is said neither here nor in the environment.
TERM ends it when what goes on has ended, or after --drain seconds; HUP reads the settings and tokens anew.
With --json: one line {port, host, url, pid, store} as soon as it listens.
"""


@click.command(cls=Verb, short_help="Record many agents, until TERM or Ctrl-C.", epilog=_EPILOG)
@options(
    "host",
    "port",
    "token",
    "tokens",
    "reverse",
    "listen",
    "unknown-run",
    "workflow",
    "label",
    "durability",
    "on-store-failure",
    "upstream-ca",
    "local",
    "allow-host",
    "allow-metadata",
    "passthrough",
    "on-distrust",
    "max-body",
    "idle",
    "admin",
    "drain",
    "log-format",
    "tsa",
    "tsa-ca",
    "witness",
    "anchor-every",
    "json",
    port=PROXY_PORT,
    durability="group",
)
@click.pass_context
def command(context: click.Context, **given: Unpack["Given"]) -> int:
    """Record every agent that is pointed here, until TERM or Ctrl-C."""
    with hired() as clerk:  # it loads what it needs while this process does
        return _served(context, given, clerk)


def _served(context: click.Context, given: "Given", clerk: Hired) -> int:
    # Loaded here: mitmproxy takes a second, and no other verb should wait for it.
    from proxy import pace
    from proxy.service.file import completed
    from proxy.service.keeper import Keeper
    from proxy.service.running import Service
    from proxy.service.terms import place, told
    from proxy.sessions.opening import refuse_in_replay
    from proxy.stores.policy import in_force
    from proxy.views.silence import distrust
    from store.authority import Authority

    shared: Shared = context.obj
    refuse_in_replay(os.environ)
    authority = Authority.open_or_create(shared.authority)
    now = completed(context, given, shared)
    recorder, admin = told(now, authority, shared), place(now["admin"])
    talk, rules = replace(Talk.of(context), as_json=now["log_format"] == "json"), in_force(shared)
    keeper = Keeper(
        talk=talk,
        store=shared.store,
        host=now["host"],
        token=now["token"] or ("TOKEN" if recorder.tenants else None),
        options=lambda: told(completed(context, given, shared), authority, shared),
        as_json=given["as_json"],
    )
    rounds = anchoring.rounds_of(shared, now, talk.warn)
    with contextlib.closing(rounds), upkeep.scribe(talk, shared, clerk) as scribe:
        rounds.begin()
        pace.settle()
        service = Service(scribe, recorder, rules, keeper, admin)
        counts = run(talk, service.run())
    keeper.ended(counts.exchanges, counts.tunnels)
    if counts.distrusted:
        cause = distrust(counts.distrusted)
        talk.warn(cause.sentence, cause.hint)
    if counts.last_failure:
        talk.error(f"something was not recorded: {counts.last_failure}")
        return Verb.failure
    return 0
