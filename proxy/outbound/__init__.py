"""The way out of the live modes: what may leave is said and agreed to, connections are opened outside and handed in."""
