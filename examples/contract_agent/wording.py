"""The agent's model: one growing conversation, streamed, that puts clauses and the verdict in plain words."""

from __future__ import annotations

from dataclasses import dataclass, field

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

TOKENS_MAX = 32


@dataclass(slots=True)
class Conversation:
    """A conversation with the model; every question carries all that was said before."""

    client: OpenAI
    model: str
    messages: list[ChatCompletionMessageParam] = field(default_factory=list)

    def instruct(self, text: str) -> None:
        """Set the system prompt; call it first."""
        self.messages.append({"role": "system", "content": text})

    def ask(self, text: str) -> str:
        """Say something and give the answer on one line; raises openai.OpenAIError when none comes."""
        self.messages.append({"role": "user", "content": text})
        stream = self.client.chat.completions.create(
            model=self.model,
            messages=self.messages,
            max_tokens=TOKENS_MAX,
            temperature=1,
            stop=["\n"],
            stream=True,
        )
        pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
        answer = " ".join("".join(pieces).split())
        self.messages.append({"role": "assistant", "content": answer})
        return answer or "(nothing)"
