"""A run that comes as a file: a tape (a bundle, docs/bundles.md) is verified and taken into a store that passes."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from proxy.options import Shared
from proxy.stores import upkeep
from proxy.talk import Talk
from store.bundle.source import names_bundle

SUFFIX = ".tape"


def is_tape(word: str) -> bool:
    """Whether a RUN on the command line means a file that is there."""
    return names_bundle(word) and Path(word).is_file()


@contextlib.contextmanager
def placed(talk: Talk, shared: Shared, word: str) -> Iterator[tuple[Shared, str]]:
    """The settings whose store has the run that `word` means, and the word for it there.

    Of a tape that is a store in a folder that goes with the block. Raises NotImported, StoreUnusable.
    """
    if not is_tape(word):
        yield shared, word
        return
    from store.bundle.intake import take_in

    with tempfile.TemporaryDirectory(prefix="edgetape-tape-") as folder:
        passing = shared.within(Path(folder))
        with upkeep.opened(talk, passing) as writer:
            _, runs = take_in(Path(word), writer)
        yield passing, runs[0]


def taken_in(talk: Talk, shared: Shared, word: str) -> str:
    """The word for a run in the store; a tape that it means is taken in first, once, to stay: what a live mode records
    has the recording as its parent. Raises NotImported, StoreUnusable.
    """
    if not is_tape(word):
        return word
    from store.bundle.intake import runs_of, take_in
    from store.reader import Reader

    path = Path(word)
    first = runs_of(path)[0]
    with upkeep.opened(talk, shared) as writer:
        with Reader.open(shared.store, shared.keys) as reader:
            is_here = any(info.id == first for info in reader.runs())
        if not is_here:
            take_in(path, writer)
            talk.say(f"edgetape: the tape was taken into the store as run {first}")
    return first
