"""What a model said in an exchange, put together from its body, the pieces of a stream, or a socket's messages."""

from proxy.views.spoken import spoken
from store.core.coding import as_stored
from store.core.errors import EdgetapeError
from store.core.model import HttpResponse
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
        if exchange.messages:
            talk = spoken(exchange, reader)
            return None if talk is None else _telling(talk.answer)
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
    return _telling(answer)


def counted(response: HttpResponse | None) -> dict[str, int]:
    """What the provider counted, under its own names."""
    told = (response.usage or ()) if response else ()
    return {str(name): number for name, number in told if isinstance(number, int)}


def _telling(answer: Answer) -> Answer | None:
    return answer if answer.text or answer.calls or answer.reasoning or answer.error else None
