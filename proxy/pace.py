"""How fast a process that records may be: what makes interpreter, event loop, collector and threads quicker.

The interpreter is optimised, uvloop runs, the collector looks less often, and threads take short turns.

EDGETAPE_PLAIN=1 leaves all of it out, for whoever wants to know whether a fault lies here. So does a system that has
no uvloop, such as Windows.
"""

import gc
import os
import sys
from collections.abc import Callable, MutableMapping
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # this is loaded before it is known what will be needed
    import asyncio

PLAIN_VARIABLE = "EDGETAPE_PLAIN"
RECORDING = frozenset(("record", "rebase", "proxy"))
_YOUNG_MAX = 20_000
# How long the writer's thread may keep the interpreter from the event loop, which asks for it anew at every callback: a
# stream whose pieces come in while much is written would wait for each of them in turn.
_TURN_S_MAX = 0.002


def is_plain() -> bool:
    """Whether the user wants none of this."""
    return bool(os.environ.get(PLAIN_VARIABLE))


def optimise(arguments: list[str]) -> None:
    """Starts this process anew as `python -O`, if a command that records is asked for; returns where it is no use.

    mitmproxy checks the type of every field that it sets; -O leaves that out. The process keeps its id, and its
    environment: the agent's own Python is not optimised. Where compiled modules cannot be kept, compiling them at each
    start would cost more than is won.
    """
    asked = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if __debug__ and sys.platform != "win32" and not is_plain() and RECORDING.intersection(asked) and _is_cached():
        words = unseen(sys.orig_argv[1:], os.environ)
        os.execv(sys.executable, [sys.executable, "-O", *words])  # noqa: S606  # ourselves, no shell


def unseen(words: list[str], environment: MutableMapping[str, str]) -> list[str]:
    """The words without a store's URL that has a password: every account may read a command line, as long as the
    process lives. The URL goes into the environment, out of which it is taken before an agent starts.
    """
    verb = next((at for at, word in enumerate(words) if word in RECORDING and words[at - 1] != "-m"), 0)
    places = [at for at, word in enumerate(words[:verb]) if word == "--store" or word.startswith("--store=")]
    if len(places) != 1:
        return words
    from store.core import address
    from store.core.errors import EdgetapeError

    (at,) = places
    width = 2 if words[at] == "--store" else 1
    url = words[at].partition("=")[2] if width == 1 else "".join(words[at + 1 : at + 2])
    try:
        is_secret = address.is_url(url) and bool(address.parse(url).password)
    except EdgetapeError:  # it is told when the settings are read
        return words
    if not is_secret:
        return words
    environment["EDGETAPE_STORE"] = url
    return [*words[:at], *words[at + width :]]


def _is_cached() -> bool:
    """Whether the optimised form of what is loaded is there, or can be kept, or the other is not there either."""
    found = find_spec("mitmproxy")
    if not sys.executable or found is None or found.origin is None:
        return False
    plain, optimised = (Path(cache_from_source(found.origin, optimization=form)) for form in ("", 1))
    kept = not sys.dont_write_bytecode and os.access(optimised.parent, os.W_OK)
    return kept or optimised.is_file() or not plain.is_file()


def loop_factory() -> "Callable[[], asyncio.AbstractEventLoop] | None":
    """What makes an event loop; None for the standard one."""
    if is_plain():
        return None
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def settle() -> None:
    """What is loaded by now stays, and no thread keeps the interpreter for long."""
    keep_what_is_loaded()
    if not is_plain():
        sys.setswitchinterval(_TURN_S_MAX)


def keep_what_is_loaded() -> None:
    """The collector need not look at it again, and looks less often at what comes."""
    if not is_plain():
        gc.freeze()
        gc.set_threshold(_YOUNG_MAX, *gc.get_threshold()[1:])
