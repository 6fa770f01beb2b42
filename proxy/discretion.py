"""Takes secrets out of what we say ourselves: an error may quote what it failed on."""

import os

from store.core.redact import Redactor, secrets_of


def discreet(words: str) -> str:
    """The words without what today's environment holds, and without whatever looks like a key."""
    return Redactor(secrets_of(os.environ)).plain(words).content.decode("utf-8", "replace")
