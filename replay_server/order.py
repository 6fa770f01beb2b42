"""Lanes: which LLM request goes on from which (lane rules, version 2).

A request belongs to the lane of the newest earlier ones that it extends: same system prompt, and all messages of those
first. Several agents that asked the same cannot be told apart, so any one of equal requests is enough to go on from.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Literal

from replay_server.conversation import Conversation
from store.core.form import Endpoint

LANE_RULES = "edgetape/lanes/2"

type Order = Literal["causal", "strict", "any"]


class Lanes:
    """Learned one request after another in recorded order."""

    def __init__(self) -> None:
        self._equal: dict[bytes, list[int]] = {}
        self._parents: dict[int, tuple[list[int], int]] = {}

    def place(self, index: int, endpoint: Endpoint, said: Conversation) -> None:
        """Finds the lane of the request `index`."""
        prefixes = list(_prefixes(endpoint, said))
        for prefix in reversed(prefixes[:-1]):
            equal = self._equal.get(prefix)
            if equal is not None:
                self._parents[index] = equal, len(equal)
                break
        if prefixes:
            self._equal.setdefault(prefixes[-1], []).append(index)

    def parents(self, index: int) -> Sequence[int]:
        """The equal requests that `index` extends, none where it begins a lane."""
        equal, count = self._parents.get(index, ([], 0))
        return equal[:count]

    def root(self, index: int) -> int:
        """The request that began the lane of `index`."""
        while above := self.parents(index):
            index = above[0]
        return index


def _prefixes(endpoint: Endpoint, said: Conversation) -> Iterator[bytes]:
    running = hashlib.sha256(repr(endpoint).encode() + said.frame.get("system", b"")).digest()
    for message in said.messages:
        running = hashlib.sha256(running + message).digest()
        yield running
