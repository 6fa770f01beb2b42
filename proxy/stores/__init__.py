"""A store as the command line opens it, and what is done to it by policy."""
