"""A bar on stderr for long work, where there is a person to see it."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from proxy.talk import Talk

type Told = Callable[[int, int], None]


@contextlib.contextmanager
def progress(talk: Talk, what: str, *, wanted: bool) -> Iterator[Told | None]:
    """Something to tell (done, total) to; None where nobody looks."""
    if not wanted or talk.loudness < 0 or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True, no_color=not talk.color), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
