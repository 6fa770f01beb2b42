"""A streamed answer of a model as one message that can be edited, and back into its provider's own events. Pure.

The forms are those that the providers give where no stream is asked for: a chat completion, a message, a response,
the contents of Gemini.
"""

from collections.abc import Sequence
from typing import Protocol

from replay_server.streams import completions, contents, messages, responses
from store.labels.tree import Json


class Form(Protocol):
    """One provider's way to stream; a module with these functions is one."""

    def knows(self, events: Sequence[dict[str, Json]]) -> bool:
        """Whether the events of a stream are of this form."""

    def assembled(self, events: Sequence[dict[str, Json]]) -> dict[str, Json]:
        """The message that the events come to."""

    def streamed(self, message: dict[str, Json]) -> list[bytes]:
        """The events of a message as they are sent, one a piece."""


FORMS: tuple[Form, ...] = (messages, responses, completions, contents)


def form_of(events: Sequence[dict[str, Json]]) -> Form | None:
    """The form of a stream, by its events; None for one that no model is known to send."""
    return next((form for form in FORMS if form.knows(events)), None)
