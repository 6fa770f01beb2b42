"""The Gemini dialect of Google AI and Vertex AI: content, streams in both forms, counts and embeddings."""

import pytest

from store.labels.classify import label, read
from store.labels.dialect import Answer, Call
from store.labels.summary import summary
from store.labels.wire import Request, Response
from tests.store.labels.exchanges import answer, post, stream

BASE = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash"
CONTENTS = [{"role": "user", "parts": [{"text": "hi"}]}]
ASKED = post(f"{BASE}:generateContent", {"contents": CONTENTS, "generationConfig": {"temperature": 0.50, "topK": 3}})


def chunk(*parts: object, finish: str | None = None, tokens: int = 0) -> dict[str, object]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, "finishReason": finish}
    usage = {"promptTokenCount": 2, "candidatesTokenCount": tokens}
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash-001",
        "responseId": "r1",
    }


PARTS = (
    {"text": "Hm.", "thought": True},
    {"text": "Look"},
    {"text": "ing."},
    {"functionCall": {"name": "lookup", "args": {"code": "GB"}, "id": "1"}},
)
SAID = Answer(
    text="Looking.",
    calls=(Call("lookup", '{"code":"GB"}', "1"),),
    reasoning="Hm.",
    model="gemini-2.5-flash-001",
    usage=(("promptTokenCount", 2), ("candidatesTokenCount", 9)),
    stop="STOP",
    id="r1",
)
CHUNKS = [*(chunk(part, tokens=place) for place, part in enumerate(PARTS)), chunk(finish="STOP", tokens=9)]


def test_a_request_is_known_with_its_model_and_settings() -> None:
    labels = label(ASKED)
    assert (labels.kind, labels.boundary, labels.operation) == ("llm", "decision", "generateContent")
    assert (labels.model, labels.settings) == ("gemini-2.5-flash", (("temperature", "0.5"), ("topK", "3")))


@pytest.mark.parametrize(
    "asked, kind",
    [
        (post(f"{BASE}:streamGenerateContent?alt=sse", {"contents": CONTENTS}), "llm"),
        (post("https://vertex.example/v1/publishers/google/models/g:generateContent", b""), "llm"),
        (post(f"{BASE}:countTokens", {"contents": CONTENTS}), "other"),
        (post(f"{BASE}:embedContent", {}), "embedding"),
        (post("https://vertex.example/v1/publishers/google/models/text-embedding-004:predict", {}), "embedding"),
        (post("https://vertex.example/v1/publishers/google/models/some-classifier:predict", {}), "tool"),
        (post("https://tools.example/models/x", {}), "tool"),
    ],
)
def test_neighbours_are_told_apart(asked: Request, kind: str) -> None:
    assert label(asked).kind == kind


@pytest.mark.parametrize(
    "response",
    [answer(chunk(*PARTS, finish="STOP", tokens=9)), stream(CHUNKS), answer(CHUNKS)],
    ids=["one object", "event stream", "JSON array"],
)
def test_an_answer_is_read_in_every_form(response: Response) -> None:
    assert read(label(ASKED), response) == SAID
    assert summary(ASKED, response) == (
        'asked gemini-2.5-flash (1 message) -> "Looking." calls lookup(code="GB") 9 tokens'
    )


def test_a_blocked_prompt_and_an_error_say_so() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert summary(ASKED, answer(blocked)).endswith("-> refused")
    failed = answer([{"error": {"code": 400, "message": "API key not valid"}}], 400)
    assert summary(ASKED, failed).endswith('-> 400, "API key not valid"')


def test_counts_and_vectors_are_told() -> None:
    counted = post(f"{BASE}:countTokens", {"contents": CONTENTS})
    assert read(label(counted), answer({"totalTokens": 31})).usage == (("totalTokens", 31),)
    batch = post(f"{BASE}:batchEmbedContents", {"requests": [{}, {}]})
    assert summary(batch, answer({"embeddings": [{}, {}]})) == "embedded 2 texts with gemini-2.5-flash -> 2 vectors"
