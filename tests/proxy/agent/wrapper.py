"""A command that does around an agent what the recorder does, and nothing else; and an agent to run in it."""

import sys

WRAPPER = """
import asyncio, os, sys
from proxy.agent.process import running_agent
async def main():
    with running_agent(sys.argv[1:], os.environ) as agent:
        ended = await agent.wait()
        names = [number.name for number in agent.received]
        print("closed after", names, ended.code, file=sys.stderr, flush=True)
        return ended.code
sys.exit(asyncio.run(main()))
"""

# Counts the interrupts that come within a second of the first, then ends with 7.
COUNTS_INTERRUPTS = """
import signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("ready", flush=True)
while not got: time.sleep(0.02)
end = time.monotonic() + 1
while time.monotonic() < end: time.sleep(0.02)
print("interrupts:", len(got), flush=True)
sys.exit(7)
"""


def wrapped(*command: str) -> list[str]:
    """The command line that runs `command` in the wrapper; start it in the checkout."""
    return [sys.executable, "-c", WRAPPER, *command]


def python(program: str) -> list[str]:
    """The command line of a Python program given as text."""
    return [sys.executable, "-c", program]
