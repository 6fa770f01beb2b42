"""A recorder that runs until it is told to end, and takes other settings while it runs.

- TERM, INT: takes nothing new, lets what goes on end for so long, closes every run. A second one ends it at once.
- HUP: reads the settings anew. Connections stay; what only a start can change is said to be so.
"""

import asyncio
import signal
import time
from collections.abc import Mapping
from dataclasses import replace

from addons.options import RecorderOptions
from addons.recorder import Counts, Recorder
from proxy.service.admin import Admin
from proxy.service.keeper import Keeper, Listening
from proxy.service.metrics import Snapshot
from proxy.sessions.end import told_to_end
from store.core.errors import EdgetapeError
from store.core.leaf import PolicyKind
from store.drafting.scribe import Scribe

WATCH_S = 1.0
# What stays as it was at the start.
LASTING = (
    *("confdir", "listen_host", "listen_port", "bases", "run_ports", "upstream_ca", "durability"),
    *("on_distrust", "body_bytes_max", "inline_hooks"),
)


class Service:
    """The long-lived recorder; `admin` is where its admin listener is to be."""

    def __init__(
        self,
        scribe: Scribe,
        options: RecorderOptions,
        in_force: Mapping[PolicyKind, str],
        keeper: Keeper,
        admin: tuple[str, int] | None = None,
    ) -> None:
        self._scribe = scribe
        self._in_force = in_force
        self._options = options
        self._keeper = keeper
        self._admin = admin
        self._recorder: Recorder | None = None
        self._draining = False
        self._reloads = 0
        self._started_s = time.time()

    async def run(self) -> Counts:
        """Listens, and returns at TERM or Ctrl-C, with every run closed; the result is what it has seen."""
        admin = Admin(self._snapshot)
        told = None if self._admin is None else await admin.start(*self._admin)
        own = () if told is None else (told,)
        recorder = Recorder(self._scribe, replace(self._options, own_ports=own))
        recorder.heard = self._keeper.happened
        try:
            await recorder.start()
            self._recorder = recorder
            try:
                await self._scribe.note(self._in_force)
                await self._attend(Listening(recorder.port, recorder.bases, told))
            finally:
                self._draining = True
                await recorder.stop()
        finally:
            await admin.stop()
        return recorder.counts

    async def _attend(self, listening: Listening) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        self._keeper.ready(listening)
        watch = asyncio.create_task(self._watch())
        try:
            await told_to_end()
        finally:
            watch.cancel()
            loop.remove_signal_handler(signal.SIGHUP)
        self._keeper.ending(self._recorder.standing.going_on if self._recorder else 0)

    def _reload(self) -> None:
        try:
            fresh = self._keeper.options()
        except EdgetapeError as error:
            self._keeper.unreadable(error)
            return
        lasting = [name for name in LASTING if getattr(fresh, name) != getattr(self._options, name)]
        kept = {name: getattr(self._options, name) for name in lasting}
        self._options = replace(fresh, **kept)
        if self._recorder is not None:
            self._recorder.tell(self._options)
        self._reloads += 1
        self._keeper.reloaded(lasting)

    async def _watch(self) -> None:
        """Looks whether the log is signed."""
        signed = True
        while True:
            failure = self._scribe.signing_failure
            if failure is not None and signed:
                self._keeper.unsigned(failure)
            signed = failure is None
            await asyncio.sleep(WATCH_S)

    def _snapshot(self) -> Snapshot | None:
        if self._recorder is None:
            return None
        counts, standing = self._recorder.counts, self._recorder.standing
        return Snapshot(
            exchanges=counts.exchanges,
            tunnels=counts.tunnels,
            refused=counts.refused,
            failures=counts.failures,
            unlabelled=self._scribe.unlabelled,
            distrusted=sum(counts.distrusted.values()),
            open_runs=standing.open_runs,
            going_on=standing.going_on,
            connections=standing.connections,
            failing=standing.failing,
            unsigned=self._scribe.signing_failure is not None,
            draining=self._draining,
            reloads=self._reloads,
            started_s=self._started_s,
        )
