"""Refuses what names no run, where it is told to."""

from mitmproxy.http import HTTPFlow

from addons.keeping import ANSWERED, Keeping, answer, watched
from addons.options import RecorderOptions
from addons.run_tag import TAG

HOW = "send the header X-Edgetape-Run, or name the run in the proxy URL: http://RUN:TOKEN@HOST:PORT"


class Unknown:
    """What comes inside a CONNECT may still say so itself; a tunnel never does."""

    def __init__(self, keeping: Keeping, options: RecorderOptions) -> None:
        self.keeping = keeping
        self.tell(options)

    def tell(self, options: RecorderOptions) -> None:
        """Another way with requests that name no run from now on."""
        self._refuses = options.unknown_run == "refuse"

    @watched
    async def requestheaders(self, flow: HTTPFlow) -> None:
        """Asks each request."""
        if self._refuses and ANSWERED not in flow.metadata and not flow.metadata[TAG].name:
            self.keeping.counts.refused += 1
            answer(flow, 403, "Forbidden", f"this recorder takes nothing without the name of a run: {HOW}")
