"""What a model said in an exchange, put together from its body or from the pieces of a stream."""

from store.core.coding import as_stored
from store.core.errors import EdgetapeError
from store.exchange import Exchange
from store.labels.classify import answer_text, request_labels
from store.labels.dialect import Answer
from store.reader import Reader


def answer_of(reader: Reader, exchange: Exchange) -> Answer | None:
    """The answer; None where none came, none can be read, or the exchange is with no model."""
    outcome, response = exchange.outcome, exchange.response
    if outcome is None or response is None:
        return None
    asked, facts = exchange.request, exchange.facts
    try:
        labels = request_labels(
            reader.text(asked, facts.method),
            reader.text(asked, facts.scheme),
            reader.text(asked, facts.host),
            facts.port,
            reader.text(asked, facts.path),
            reader.pairs(asked, facts.headers),
            reader.body(asked, facts.body),
        )
        if labels.kind not in ("llm", "mcp"):
            return None
        headers = as_stored(reader.pairs(outcome, response.headers), exact=response.exact)
        answer = answer_text(labels, headers, reader.body(outcome, response.body))
    except EdgetapeError:
        return None  # erased or damaged: the page says so where the body stands
    return answer if answer.text or answer.calls or answer.reasoning or answer.error else None
