"""How much of a large count a test run does: a seeded sample as a rule, all of it in a soak."""

import random
from dataclasses import dataclass

import pytest

MEASURED = "edgetape-measured"


@dataclass(frozen=True, slots=True)
class Sample:
    """One test's share: its counts and its random source, and where it says what it measured."""

    seed: int
    full: bool
    test: pytest.Item

    def count(self, some: int, full: int) -> int:
        """How many cases to do: `full` in a soak, else `some`."""
        return full if self.full else some

    def source(self, name: str = "") -> random.Random:
        """A random source that the seed, the test and `name` alone decide."""
        return random.Random(f"{self.seed}:{self.test.nodeid}:{name}")

    def measured(self, sentence: str) -> None:
        """Have `sentence` printed at the end of the run, and kept in docs/soak.md by a soak."""
        self.test.user_properties.append((MEASURED, sentence))
