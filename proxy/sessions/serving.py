"""A replay without an agent of its own: the server answers whoever is pointed at it, until it is told to end."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import click

from proxy import loop
from proxy.agent.environment import changes
from proxy.agent.revival import Revival, revival
from proxy.agent.shell import render
from proxy.confined.confinement import Unconfined
from proxy.options import Shared
from proxy.sessions.end import told_to_end
from proxy.sessions.opening import replayed
from proxy.sessions.replaying import Stage, server_of, surroundings
from proxy.stores import upkeep
from proxy.stores.tapes import placed
from proxy.talk import Talk
from replay_server.report import Report
from replay_server.server import ReplayOptions
from store.authority import Authority
from store.core import redact
from store.reader import Reader, RunInfo
from store.scratch import scratch

NO_COMMAND = ("--serve",)  # stands where the command stands that is answered


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that listens: its port, the replay's own run, and what a program's environment needs to reach it; the
    value None stands for a variable to unset.
    """

    port: int
    run: str
    environment: Mapping[str, str | None]


def served(talk: Talk, shared: Shared, word: str, options: ReplayOptions, ready: "Callable[[Serving], None]") -> Report:
    """Serves the run that `word` means until it is told to end. Raises UnknownRun, NotImported, StoreUnusable, and what
    a server raises that cannot listen.
    """
    with placed(talk, shared, word) as (place, name), Reader.open(place.store, place.keys) as reader:
        run = replayed(talk, reader, name)
        revived = revival(reader, run, NO_COMMAND, os.environ)
        told = replace(options, secrets=redact.secrets_of(revived.environment))
        with upkeep.opened(talk, place) as writer:
            authority = Authority.open_or_create(shared.authority)
            stage = Stage(reader, writer, authority, Unconfined("nothing runs under it"))
            return loop.run(talk, serve(stage, run, revived, told, os.environ, ready))


def announced(talk: Talk, shell: str, *, as_json: bool) -> "Callable[[Serving], None]":
    """What tells, as soon as the server listens, what a shell is to set; as JSON in one line."""

    def announce(serving: Serving) -> None:
        if as_json:
            place = {"port": serving.port, "pid": os.getpid(), "run": serving.run}
            click.echo(json.dumps({**place, "environment": serving.environment}))
        else:
            click.echo(render(serving.environment, shell), nl=False)
        sys.stdout.flush()
        talk.say(f"edgetape: answering on 127.0.0.1:{serving.port}, UNCONFINED; Ctrl-C ends it, with the verdict")

    return announce


async def serve(
    stage: Stage,
    run: RunInfo,
    revival: Revival,
    options: ReplayOptions,
    base: Mapping[str, str],
    ready: Callable[[Serving], None],
) -> Report:
    """Calls `ready` as soon as the server listens, and gives its report at TERM or Ctrl-C.

    `base` is the environment that programs have now. Raises what the server raises when it cannot listen.
    """
    server = server_of(stage, run, revival, options)
    await server.start()
    try:
        with scratch() as folder:
            environment = surroundings(server, run, revival, stage.authority, folder)
            ready(Serving(server.port, server.run, changes(base, environment)))
            await told_to_end()
    finally:
        report = await server.stop(None)
    return report
