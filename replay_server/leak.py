"""Whether a request holds a stand-in: what stands for a secret of the recording must never reach a real server."""

from collections.abc import Iterable

from store.core.form import Asked, content
from store.core.redaction.known import Known


def carries(asked: Asked, standins: Iterable[bytes]) -> bool:
    """Whether one of these stands in a request, in any spelling: in its path, query, header fields or body."""
    known = Known(standin.decode("latin-1") for standin in standins)
    texts = (asked.endpoint.path, asked.query, *(value for _, value in asked.headers), asked.body, content(asked))
    return any(next(known.search(text, 0, len(text)), None) is not None for text in texts)
