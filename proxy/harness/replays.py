"""The replaying sessions of a harness: each a replay server of its own, over one store that goes with the process."""

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path

from proxy.agent.environment import changes
from proxy.agent.revival import Revival, revival
from proxy.border import Misuse
from proxy.configuration import nearest
from proxy.confined.confinement import Unconfined
from proxy.harness.lines import Replay
from proxy.harness.outfits import Outfits
from proxy.harness.owner import TestProcess
from proxy.options import Shared
from proxy.sessions.replaying import Stage, server_of, surroundings
from proxy.stores import upkeep
from proxy.talk import Talk
from replay_server.server import ReplayOptions, ReplayServer
from store.authority import Authority
from store.bundle.intake import take_in
from store.core import redact
from store.reader import Reader, RunInfo

_UNCONFINED = Unconfined("a test runs in a process of its own")


class Replays:
    """`close` takes the store away."""

    def __init__(self, talk: Talk, shared: Shared, folder: Path, outfits: Outfits) -> None:
        self._closing = contextlib.ExitStack()
        self._shared, self._folder, self._outfits = shared, folder, outfits
        self._writer = self._closing.enter_context(upkeep.opened(talk, shared.within(folder)))
        self._stage: Stage | None = None
        self._runs: dict[bytes, str] = {}

    async def begin(self, wish: Replay) -> tuple[ReplayServer, dict[str, str | None]]:
        """A server that answers from the tape, and what the test's environment needs to reach it.

        Raises Misuse, NotImported, StoreUnusable, BadRule, NotAllowed, and what a server raises that cannot listen.
        """
        run = self._taken_in(Path(wish.tape))
        stage = self._staged()
        info = stage.reader.run(run)
        test = TestProcess(wish.pid, wish.environment)
        revived = revival(stage.reader, info, ("test",), wish.environment)
        server = server_of(stage, info, revived, _options(wish, test, revived))
        await server.start()
        return server, self._changes(server, info, revived, wish.environment, test)

    def close(self) -> None:
        """Ends what is open; the sessions have ended."""
        self._closing.close()

    def _taken_in(self, tape: Path) -> str:
        try:
            digest = hashlib.sha256(tape.read_bytes()).digest()
        except OSError as error:
            raise Misuse(f"the tape {tape} cannot be read: {error.strerror}") from error
        if digest not in self._runs:
            _, runs = take_in(tape, self._writer)
            self._runs[digest] = runs[0]
        return self._runs[digest]

    def _staged(self) -> Stage:
        if self._stage is None:
            within = self._shared.within(self._folder)
            reader = self._closing.enter_context(Reader.open(within.store, within.keys))
            authority = Authority.open_or_create(self._shared.authority)
            self._stage = Stage(reader, self._writer, authority, _UNCONFINED)
        return self._stage

    def _changes(
        self, server: ReplayServer, run: RunInfo, revived: Revival, base: Mapping[str, str], test: TestProcess
    ) -> dict[str, str | None]:
        authority = self._staged().authority
        files = self._outfits.of(revived.environment, authority)
        environment = surroundings(server, run, revived, authority, files)
        return changes(base, environment | test.variables)


def _options(wish: Replay, test: TestProcess, revived: Revival) -> ReplayOptions:
    configured = nearest(Path(wish.tape).parent)
    return ReplayOptions(
        on_drift=wish.on_drift,
        order=wish.order,
        ignore=(*configured.ignore, *wish.ignore),
        optional=(*configured.optional, *wish.optional),
        local=wish.local,
        owns_port=test.owns,
        secrets=redact.secrets_of(revived.environment),
    )
