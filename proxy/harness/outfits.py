"""The files that tests' clients read, written once for all sessions: making them takes longer than a replay.

They depend on what an environment names of the user's own; another environment gets others.
"""

from collections.abc import Mapping
from pathlib import Path

from proxy.agent.passage import Files, laid_out
from store.authority import Authority
from store.trust import USER_BUNDLE_VARIABLES

_READ = (*USER_BUNDLE_VARIABLES, "SSL_CERT_DIR", "WGETRC", "HOME")


class Outfits:
    """What was written so far, each in a folder of its own beneath `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str | None, ...], Files] = {}

    def of(self, environment: Mapping[str, str], authority: Authority) -> Files:
        """The files for an environment. Raises PassageError, NoRoots and ClientFilesError."""
        said = tuple(environment.get(name) for name in _READ)
        if said not in self._known:
            folder = self._folder / f"outfit-{len(self._known)}"
            folder.mkdir(exist_ok=True)
            self._known[said] = laid_out(environment, authority, folder)
        return self._known[said]
