"""The family of errors that edgetape shows to people: one sentence and a hint."""


class EdgetapeError(Exception):
    """Something that a person can act on.

    `str(error)` is one sentence; `hint` says what to do about it, or is empty.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Malformed(EdgetapeError):
    """Bytes that are not what their format says: whoever wrote them is at fault."""


class UnknownRun(EdgetapeError):
    """The name, prefix or word that was given fits no run, or more than one."""


class KeyUnavailable(EdgetapeError):
    """The signing key is missing, unreadable or not the store's own."""


class StoreUnusable(EdgetapeError):
    """The store cannot be opened, read or written: locked, full, newer than we are, not a store."""


class InvalidEvent(EdgetapeError):
    """A draft that its own format forbids: the caller is at fault, nothing was written."""
