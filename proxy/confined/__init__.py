"""Confinement: a network of the agent's own that leads nowhere, and what tried to get out of it."""
