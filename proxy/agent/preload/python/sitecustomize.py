"""Loads what makes Python's HTTP clients go through HTTPS_PROXY, then the user's own sitecustomize as if alone.

Any Python reads this file, also one that is too old for the rest.
"""

import os
import sys

if sys.version_info >= (3, 8):
    import edgetapepreload  # type: ignore[import-not-found]

    edgetapepreload.begin(os.environ)
    del sys.modules["edgetapepreload"]

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _here]
_ours = sys.modules.pop(__name__)
try:
    __import__("sitecustomize")
except ImportError:
    if getattr(sys.exc_info()[1], "name", "sitecustomize") != "sitecustomize":
        raise
finally:
    sys.modules.setdefault(__name__, _ours)
