"""A store that a command writes into, and what its keeper must be told of it."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from proxy.options import Shared
from proxy.talk import Talk
from store.core.errors import EdgetapeError

if TYPE_CHECKING:
    from store.clerk.hiring import Hired
    from store.drafting.scribe import Scribe
    from store.writer import Writer


@contextlib.contextmanager
def opened(talk: Talk, shared: Shared) -> "Iterator[Writer]":
    """A writer into the store, closed at the end; says which dead recorders' runs cannot be ended, and that nothing
    signs. Raises StoreUnusable and KeyUnavailable.
    """
    from store.writer import Writer

    with contextlib.closing(Writer.open(shared.store, shared.keys)) as writer:
        _say_unrecovered(talk, writer.unrecovered)
        yield writer
    if writer.signing_failure is not None:
        say_unsigned(talk, writer.signing_failure)


@contextlib.contextmanager
def scribe(talk: Talk, shared: Shared, hired: "Hired | None" = None) -> "Iterator[Scribe]":
    """The same for a recorder, in a process of its own, which may be started already."""
    from store.clerk.clerk import Clerk

    with contextlib.closing(Clerk.open(shared.store, shared.keys, hired)) as clerk:
        _say_unrecovered(talk, clerk.unrecovered)
        yield clerk
    if clerk.signing_failure is not None:
        say_unsigned(talk, clerk.signing_failure)


def _say_unrecovered(talk: Talk, unrecovered: Mapping[str, Exception]) -> None:
    for run, error in unrecovered.items():
        talk.warn(f"the run {run}, whose recorder died, cannot be ended: {error}", f"edgetape verify {run}")


def say_unsigned(talk: Talk, failure: EdgetapeError) -> None:
    """What is written is kept all the same, and signed by whoever can sign next."""
    talk.warn(f"what is recorded is not signed: {failure}", failure.hint)
