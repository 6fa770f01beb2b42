"""Who looks after a long-lived recorder: announces it, reads its settings anew, and tells what happens to it."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from addons.options import RecorderOptions
from proxy.agent.passage import Way
from proxy.sessions.opening import warn_of_proxy
from proxy.settings import NO_TOKEN, PROXY_PORT
from proxy.stores import upkeep
from proxy.talk import Talk
from proxy.words import count
from store.core.base import Base
from store.core.errors import EdgetapeError
from store.database import shown


@dataclass(frozen=True, slots=True)
class Listening:
    """Where it listens: the proxy's port, the servers that further ports stand for, and the admin listener."""

    port: int
    bases: tuple[Base, ...] = ()
    admin: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Keeper:
    """`options` reads the settings as they are now; `as_json` announces it on stdout for a program."""

    talk: Talk
    store: Path
    host: str
    token: str | None
    options: Callable[[], RecorderOptions]
    as_json: bool

    def ready(self, listening: Listening) -> None:
        """It listens."""
        warn_of_proxy(self.talk, os.environ)
        way = Way(listening.port, "NAME", self.token or NO_TOKEN, self.host)
        self._announce(way, {str(base.listens): base.origin for base in listening.bases}, listening.admin)

    def unsigned(self, failure: EdgetapeError) -> None:
        """Why nothing signs what is recorded; told once, each time that this begins."""
        upkeep.say_unsigned(self.talk, failure)

    def reloaded(self, lasting: list[str]) -> None:
        """They are in force, but for these."""
        self.talk.event("reloaded", {})
        if lasting:
            named = ", ".join(name.removeprefix("listen_").replace("_", "-") for name in lasting)
            self.talk.warn(f"what changes with a start only stays as it was: {named}", "start the recorder anew")

    def unreadable(self, failure: EdgetapeError) -> None:
        """They cannot be: what was in force stays."""
        self.talk.error(f"the settings stay as they were: {failure}", failure.hint)

    def happened(self, what: str, about: Mapping[str, str | int]) -> None:
        """A run was opened or closed."""
        self.talk.event(what, about, detail=True)

    def ending(self, going_on: int) -> None:
        """It was told to end, and so much still goes on."""
        self.talk.event("ending", {"exchanges": going_on}, detail=not going_on)

    def _announce(self, way: Way, stand: Mapping[str, str], admin: tuple[str, int] | None) -> None:
        if self.as_json:
            place: dict[str, object] = {"port": way.port, "host": way.host, "url": way.url}
            place |= {"pid": os.getpid(), "store": str(self.store)}
            place |= {"reverse": stand} if stand else {}
            place |= {"admin": f"http://{_spelled(*admin)}"} if admin else {}
            click.echo(json.dumps(place))
        options = "" if way.port == PROXY_PORT else f" --port {way.port}"
        options += " --token TOKEN" if self.token else ""
        self.talk.say(f"edgetape: recording on {way.host}:{way.port} into {shown(self.store)}")
        for port, origin in stand.items():
            self.talk.say(f"http://{way.host}:{port} stands for {origin}")
        if admin:
            self.talk.say(f"health, readiness and metrics on http://{_spelled(*admin)}")
        self.talk.say(f'in each agent\'s shell: eval "$(edgetape env --name NAME{options})"')

    def ended(self, exchanges: int, tunnels: int) -> None:
        """What it came to."""
        self.talk.say(f"edgetape: recorded {count(exchanges, 'exchange')} and {count(tunnels, 'tunnel')}")


def _spelled(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
