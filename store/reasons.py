"""Why the system refused something, in its own words."""

import errno
import os


def reason(error: BaseException) -> str:
    """The bare sentence: without the number, the path and the address that are put around it."""
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return "another program has that port"
    return os.strerror(number) if number and number > 0 else str(error)
