"""Ground floor, pure: what an event is, what it proves, how two of them compare."""
