"""Whether a listener or a connection is the agent's, asked by a recorder or replay server that starts before it."""

from proxy.agent.process import Agent
from store.ownership import owns_connection, owns_listener


class Owner:
    """`agent` is set once it runs; until then nothing is its own."""

    agent: Agent | None = None

    def owns(self, port: int) -> bool:
        """Whether a process of the agent listens on a loopback port; some milliseconds, to be called in a thread."""
        return self.agent is not None and owns_listener(self.agent.tree, port)

    def connects(self, port: int, to_port: int) -> bool:
        """Whether a process of the agent holds the connection from one port of this machine to another; likewise."""
        return self.agent is not None and owns_connection(self.agent.tree, port, to_port)
