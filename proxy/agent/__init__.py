"""The agent: its process, what it is told of us by its environment, and who it says it is."""
