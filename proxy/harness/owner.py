"""Which ports are a test's own: those of its process, of what that started, and of what carries its mark."""

import secrets
from collections.abc import Mapping

from store.ownership import MARKER_VARIABLE, ProcessTree, owns_connection, owns_listener


class TestProcess:
    """The process of a test, known by its pid."""

    __test__ = False

    def __init__(self, pid: int, environment: Mapping[str, str]) -> None:
        marker, outer = secrets.token_hex(16), environment.get(MARKER_VARIABLE)
        self.variables = {MARKER_VARIABLE: f"{outer}:{marker}" if outer else marker}
        self._tree = ProcessTree(pid, marker)

    def owns(self, port: int) -> bool:
        """Whether it listens on a loopback port; some milliseconds, to be called in a thread."""
        return owns_listener(self._tree, port)

    def connects(self, port: int, to_port: int) -> bool:
        """Whether it holds a connection from one port of this machine to another; likewise."""
        return owns_connection(self._tree, port, to_port)
