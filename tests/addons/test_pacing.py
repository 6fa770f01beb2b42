"""Long bodies are redacted a step at a time: nobody waits for them, and no call holds the interpreter for long."""

import asyncio
import base64
import random
import time
from collections.abc import Generator

import pytest

from addons.pacing import paced
from store.core.redact import Content, Redactor

WORDS = [
    "the",
    "key",
    "token",
    "of",
    "a",
    "https://host.example/x?page=2",
    "get_current_user_name",
    '\\"password\\"',
    "=",
]
KNOWN = ["sk-proj-" + "a1B2c3D4" * 6, "ghp_" + "Zz9" * 12, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"]


def text(size: int) -> bytes:
    drawn = random.Random(1)
    return (b'{"messages": "' + " ".join(drawn.choice(WORDS) for _ in range(size // 8)).encode())[:size] + b'"}'


def picture(size: int) -> bytes:
    return b'{"image": "' + base64.b64encode(random.Random(1).randbytes(size * 3 // 4)) + b'"}'


@pytest.mark.parametrize("raw", [text(900_000), picture(900_000)], ids=["text", "picture"])
async def test_others_are_let_through_while_a_long_body_is_redacted(raw: bytes) -> None:
    redactor, turns = Redactor(known=KNOWN), 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    redacted = await paced(redactor.body_steps(raw, Content(b"application/json")))
    beside.cancel()
    assert redacted.exact
    assert turns > 5


def slowest(steps: Generator[None, None, object]) -> tuple[float, float]:
    """The processor time of all steps, and of the slowest, in milliseconds."""
    worst = total = 0.0
    going = True
    while going:
        began = time.thread_time()
        going = next(steps, steps) is not steps
        took = (time.thread_time() - began) * 1000
        worst, total = max(worst, took), total + took
    return total, worst


@pytest.mark.bench
@pytest.mark.parametrize("size", [900_000, 8_000_000])
@pytest.mark.parametrize("made", [text, picture])
def test_the_steps_of_long_bodies_are_measured(made: object, size: int) -> None:
    assert callable(made)
    total, worst = slowest(Redactor(known=KNOWN).body_steps(made(size), Content(b"application/json")))
    print(f"{getattr(made, '__name__', '')} of {size:,} bytes: {total:.0f} ms, slowest step {worst:.2f} ms")
