"""Whether a listener belongs to the agent, asked by a recorder or replay server that starts before it."""

from proxy.agent.process import Agent
from store.ownership import owns_listener


class Owner:
    """`agent` is set once it runs; until then nothing is its own."""

    agent: Agent | None = None

    def owns(self, port: int) -> bool:
        """Whether a process of the agent listens on a loopback port; some milliseconds, to be called in a thread."""
        return self.agent is not None and owns_listener(self.agent.tree, port)
