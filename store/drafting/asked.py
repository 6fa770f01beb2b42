"""What is known of a request until all that belongs to it is recorded."""

from dataclasses import dataclass

from store.core.redaction.stream import Stream
from store.drafting.seen import Pairs
from store.labels.dialect import RequestLabels


@dataclass(slots=True)
class Asked:
    """Filled in when the request is drafted: its fields, the class of its endpoint, its labels; and when pieces of its
    upload, or of its answer, come: what makes them fit to be kept.
    """

    fields: Pairs = ()
    endpoint: str = ""
    labels: RequestLabels | None = None
    upload: Stream | None = None
    answer: Stream | None = None
