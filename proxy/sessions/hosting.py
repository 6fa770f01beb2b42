"""Many replays served at once by one process at one port, each for whoever brings the token of its proxy URL."""

import asyncio
import contextlib
import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from proxy import loop
from proxy.agent.environment import changes
from proxy.agent.passage import Way, laid_out
from proxy.agent.revival import Revival, revival
from proxy.confined.confinement import Unconfined
from proxy.options import Shared
from proxy.sessions.end import told_to_end
from proxy.sessions.opening import replayed
from proxy.sessions.regression import Case, Outcome
from proxy.sessions.replaying import TOKEN_BYTES, Stage, server_of, surroundings
from proxy.sessions.serving import NO_COMMAND
from proxy.stores import upkeep
from proxy.stores.tapes import placed
from proxy.talk import Talk
from proxy.words import count
from replay_server.lobby import Lobby
from replay_server.server import ReplayOptions, ReplayServer
from store.authority import Authority
from store.core import redact
from store.reader import Reader, RunInfo
from store.scratch import scratch


@dataclass(frozen=True, slots=True)
class Guest:
    """One of them: the recording as it was asked for, and the server that answers from it."""

    word: str
    info: RunInfo
    revived: Revival
    server: ReplayServer

    def told(self, environment: Mapping[str, str | None]) -> dict[str, object]:
        """As --json prints it when the port is open; the value None stands for a variable to unset."""
        about = {"replays": self.info.id, "name": self.info.name or None, "run": self.server.run}
        return {**about, "proxy": self.proxy, "environment": environment}

    @property
    def proxy(self) -> str:
        """The proxy URL of its agent."""
        return Way(self.server.port, self.info.id, self.server.options.token).url

    async def outcome(self) -> Outcome:
        """Ends it; what came of it."""
        report = await self.server.stop(None)
        case = Case(self.word, self.info.name)
        return Outcome(case, report.exit_code, json.loads(report.json()), report.text())


type Wanted = tuple[str, str, Stage]
"""A run as it was asked for, the word for it in its store, and that."""

type Ready = Callable[[Sequence[Guest], Mapping[str, Mapping[str, str | None]]], None]
"""Told once, with what each guest's environment (by the id of its own run) is to have."""


def hosted(talk: Talk, shared: Shared, words: Sequence[str], options: ReplayOptions, ready: Ready) -> list[Outcome]:
    """Serves the runs that `words` mean, in their order, until it is told to end.

    Raises UnknownRun, NotImported, StoreUnusable, and what a server raises that cannot listen.
    """
    authority = Authority.open_or_create(shared.authority)
    with contextlib.ExitStack() as stack:
        stages: dict[Path, Stage] = {}

        def staged(place: Shared) -> Stage:
            if place.store not in stages:
                reader = stack.enter_context(Reader.open(place.store, place.keys))
                writer = stack.enter_context(upkeep.opened(talk, place))
                stages[place.store] = Stage(reader, writer, authority, Unconfined("nothing runs under it"))
            return stages[place.store]

        found = [(word, *stack.enter_context(placed(talk, shared, word))) for word in words]
        wanted = [(word, name, staged(place)) for word, place, name in found]
        return loop.run(talk, _host(talk, wanted, authority, options, ready))


def announced(talk: Talk, *, as_json: bool) -> Ready:
    """What tells where each is answered, as soon as the port is open; as JSON in one line."""

    def announce(guests: Sequence[Guest], environments: Mapping[str, Mapping[str, str | None]]) -> None:
        port = guests[0].server.port
        if as_json:
            sessions = [guest.told(environments[guest.server.run]) for guest in guests]
            click.echo(json.dumps({"port": port, "pid": os.getpid(), "sessions": sessions}))
        else:
            for guest in guests:
                click.echo(f"{guest.info.id}\t{guest.proxy}")
        sys.stdout.flush()
        many = count(len(guests), "run")
        talk.say(f"edgetape: answering for {many} on 127.0.0.1:{port}, UNCONFINED; Ctrl-C ends it, with the verdicts")

    return announce


def _guest(talk: Talk, word: str, name: str, stage: Stage, options: ReplayOptions) -> Guest:
    run = replayed(talk, stage.reader, name)
    revived = revival(stage.reader, run, NO_COMMAND, os.environ)
    known = redact.secrets_of(revived.environment)
    own = replace(options, secrets=known, token=secrets.token_urlsafe(TOKEN_BYTES))
    return Guest(word, run, revived, server_of(stage, run, revived, own))


async def _guests(talk: Talk, wanted: Sequence[Wanted], options: ReplayOptions) -> list[Guest]:
    guests: list[Guest] = []
    try:
        for word, name, stage in wanted:
            guests.append(_guest(talk, word, name, stage, options))
    except BaseException:
        for guest in guests:
            await guest.server.abandon()
        raise
    return guests


async def _host(
    talk: Talk, wanted: Sequence[Wanted], authority: Authority, options: ReplayOptions, ready: Ready
) -> list[Outcome]:
    guests = await _guests(talk, wanted, options)
    lobby = Lobby([guest.server for guest in guests])
    await lobby.start(options.listen_host, options.listen_port)
    try:
        with scratch() as folder:
            files = laid_out(os.environ, authority, folder)
            environments = {}
            for guest in guests:
                around = surroundings(guest.server, guest.info, guest.revived, authority, files)
                environments[guest.server.run] = changes(os.environ, around)
            ready(guests, environments)
            await told_to_end()
    finally:
        lobby.close()
        outcomes = await asyncio.gather(*(guest.outcome() for guest in guests))
    if lobby.strangers:
        talk.warn(f"{count(lobby.strangers, 'client')} brought the token of none of these runs, and got a 407")
    return outcomes
