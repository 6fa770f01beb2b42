"""The package of mitmproxy's own add-ons, without loading the thirty of them that nobody here asks for.

Loading the package loads them all, and a web framework and a directory client with them: a third of what a recorder
loads. Each of them is loaded when it is named, as from any package.
"""

import sys
from importlib.util import find_spec
from types import ModuleType

import mitmproxy

_PACKAGE = "mitmproxy.addons"


def bare() -> None:
    """Puts an empty package in the place of the full one, unless that is loaded already."""
    found = find_spec(_PACKAGE) if _PACKAGE not in sys.modules else None
    if found is not None and found.submodule_search_locations is not None:
        package = ModuleType(_PACKAGE)
        package.__path__ = list(found.submodule_search_locations)
        package.__spec__ = found
        sys.modules[_PACKAGE] = package
        setattr(mitmproxy, "addons", package)  # noqa: B010  # the checker knows no such name


bare()
