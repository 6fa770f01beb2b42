"""Lets a replay that is confined, and so has no network, reach the server that keeps its store."""

from pathlib import Path

from proxy.options import Shared
from store.database import explained, server


def reach(shared: Shared, word: str, *, no_confine: bool) -> None:
    """Call it before anything else, as `enter`: where the store is behind a network a process stays outside, through
    which it is reached. A tape that `word` names is replayed from a store of its own. Raises StoreUnusable.
    """
    place = shared.store
    known = server.of(place)
    if known is None or known.is_near or no_confine or Path(word).is_file():
        return
    with explained(place):
        password = server.driver().password_of(known)
    from proxy.confined.carrier import carry

    server.lead(place, carry(known), password)
