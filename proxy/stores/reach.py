"""Whether a replay that is confined, and so has no network, reaches the store that it replays from and records into."""

from pathlib import Path

from proxy.border import Misuse
from proxy.options import Shared
from store.database import server


def demand_reach(shared: Shared, word: str, *, no_confine: bool) -> None:
    """Raises Misuse where it would not; a tape that `word` names is replayed from a store of its own."""
    known = server.of(shared.store)
    if known is None or known.is_near or no_confine or Path(word).is_file():
        return
    raise Misuse(
        f"a replay is confined, and would not reach the store {known.url} by its network",
        hint="name the server's socket (postgresql:///DATABASE?host=/var/run/postgresql), or replay a tape:"
        " edgetape pin RUN; --no-confine goes without confinement",
    )
