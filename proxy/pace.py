"""How fast a process that records may be: what makes interpreter, event loop, collector and threads quicker.

The interpreter is optimised, uvloop runs, the collector looks less often, and threads take short turns.

EDGETAPE_PLAIN=1 leaves all of it out, for whoever wants to know whether a fault lies here. So does a system that has
no uvloop, such as Windows.
"""

import gc
import os
import sys
from collections.abc import Callable
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
    """Starts this process anew where that is of use, else returns: as `python -O`, if a command that records is asked
    for, and without the password that its own command line holds.

    mitmproxy checks the type of every field that it sets; -O leaves that out. The process keeps its id, and its
    environment: the agent's own Python is not optimised. Where compiled modules cannot be kept, compiling them at each
    start would cost more than is won.
    """
    if sys.platform == "win32":
        return
    given = words = sys.orig_argv[1:]
    if any("postgres" in word for word in arguments):
        from proxy.cover import unseen

        words = unseen(given, os.environ)
    asked = arguments[: arguments.index("--")] if "--" in arguments else arguments
    is_slow = __debug__ and not is_plain() and bool(RECORDING.intersection(asked)) and _is_cached()
    if is_slow or words != given:
        os.execv(sys.executable, [sys.executable, *["-O"] * is_slow, *words])  # noqa: S606  # ourselves, no shell


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
