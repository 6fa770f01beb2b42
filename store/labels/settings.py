"""Which members of a model request are settings: they steer the answer, and hold no content."""

from store.labels.tree import Sources
from store.labels.wire import Request

SOURCE_CHARACTERS_MAX = 512
TOTAL_CHARACTERS_MAX = 4096

# fmt: off
_NAMES = frozenset(
    (
        # sampling
        "temperature", "top_p", "top_k", "top_a", "min_p", "typical_p", "seed", "random_seed", "do_sample",
        "n", "best_of", "candidate_count", "k",
        # penalties
        "frequency_penalty", "presence_penalty", "repetition_penalty", "repeat_penalty", "length_penalty",
        "logit_bias",
        # length and end
        "max_tokens", "max_completion_tokens", "max_output_tokens", "min_tokens", "num_predict", "num_ctx",
        "stop", "stop_sequences", "truncation",
        # thinking
        "reasoning", "reasoning_effort", "reasoning_format", "reasoning_split", "include_reasoning",
        "thinking",
        # form of the answer
        "response_format", "output_config", "text", "verbosity", "modalities", "logprobs", "top_logprobs",
        "stream", "stream_options", "encoding_format", "dimensions", "input_type", "size", "quality",
        "voice",
        # tools
        "tool_choice", "parallel_tool_calls", "max_tool_calls",
        # service
        "service_tier", "speed", "provider", "inference_geo", "store", "background", "keep_alive",
        "safe_prompt", "safety_mode",
    )
)
# fmt: on


def settings(request: Request) -> tuple[tuple[str, str], ...]:
    """The settings of a JSON body as (name, JSON source text), in the order of the body."""
    return chosen({name: source for name, source in request.sources.items() if name in _NAMES})


def chosen(sources: Sources) -> tuple[tuple[str, str], ...]:
    """Settings of which a source above 512 characters, and what goes beyond 4,096, is left out: that is content."""
    found: list[tuple[str, str]] = []
    total = 0
    for name, source in sources.items():
        text = bytes(source).decode("utf-8", "replace")
        total += len(text) if len(text) <= SOURCE_CHARACTERS_MAX else 0
        if len(text) <= SOURCE_CHARACTERS_MAX and total <= TOTAL_CHARACTERS_MAX:
            found.append((name, text))
    return tuple(found)
