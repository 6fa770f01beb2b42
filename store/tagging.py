"""Tags of runs: leaves of the log, appended together."""

from collections.abc import Sequence

from store import log
from store.core.leaf import RunTagged
from store.database.connection import Connection
from store.writer import Change


def tagging(tags: Sequence[RunTagged]) -> Change:
    """What `Writer.change` is to do to note them, all or none."""

    def append(connection: Connection, ts: str) -> None:
        for each in tags:
            log.append(connection, ts, each)

    return append
