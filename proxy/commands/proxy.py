"""`edgetape proxy`: the long-lived recorder for many agents."""

import contextlib
import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from proxy.border import Verb
from proxy.loop import run
from proxy.options import Shared, options
from proxy.settings import NO_TOKEN, PROXY_PORT
from proxy.stores import anchoring, upkeep
from proxy.talk import Talk
from proxy.words import count

if TYPE_CHECKING:
    from proxy.agent.passage import Way
    from proxy.sessions.terms import Given
    from store.core.base import Base

_EPILOG = """\b
Each agent names its run in the proxy URL: http://NAME:TOKEN@127.0.0.1:PORT. `edgetape env` prints all that it needs.
A run is closed when nothing came for --idle seconds; the same name later opens a new run.
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
    # Loaded here: mitmproxy takes a second, and no other verb should wait for it.
    from proxy import pace
    from proxy.agent.passage import Way
    from proxy.sessions.opening import refuse_in_replay, warn_of_proxy
    from proxy.sessions.service import Listening, Service
    from proxy.sessions.terms import told
    from proxy.stores.policy import in_force
    from proxy.views.silence import distrust
    from store.authority import Authority

    shared: Shared = context.obj
    refuse_in_replay(os.environ)
    authority = Authority.open_or_create(shared.authority)
    recorder = told(given, authority, shared.store)
    talk, rules = Talk.of(context), in_force(shared)

    def ready(listening: Listening) -> None:
        warn_of_proxy(talk, os.environ)
        way = Way(listening.port, "NAME", given["token"] or NO_TOKEN, given["host"])
        _announce(talk, shared.store, way, listening.bases, as_json=given["as_json"])

    rounds = anchoring.rounds_of(shared, given, talk.warn)
    with contextlib.closing(rounds), upkeep.opened(talk, shared) as writer:
        rounds.begin()
        pace.settle()
        service = Service(writer, recorder, rules)
        work = service.run(ready, partial(upkeep.say_unsigned, talk))
        counts = run(talk, work, pace.loop_factory())
    talk.say(f"edgetape: recorded {count(counts.exchanges, 'exchange')} and {count(counts.tunnels, 'tunnel')}")
    if counts.distrusted:
        cause = distrust(counts.distrusted)
        talk.warn(cause.sentence, cause.hint)
    if counts.last_failure:
        talk.error(f"something was not recorded: {counts.last_failure}")
        return Verb.failure
    return 0


def _announce(talk: Talk, store: Path, way: "Way", bases: "Sequence[Base]", *, as_json: bool) -> None:
    stand = {str(base.listens): base.origin for base in bases}
    if as_json:
        place = {
            "port": way.port,
            "host": way.host,
            "url": way.url,
            "pid": os.getpid(),
            "store": str(store),
            **({"reverse": stand} if stand else {}),
        }
        click.echo(json.dumps(place))
    options = "" if way.port == PROXY_PORT else f" --port {way.port}"
    options += "" if way.token == NO_TOKEN else " --token TOKEN"
    talk.say(f"edgetape: recording on {way.host}:{way.port} into {store}")
    for port, origin in stand.items():
        talk.say(f"http://{way.host}:{port} stands for {origin}")
    talk.say(f'in each agent\'s shell: eval "$(edgetape env --name NAME{options})"')
