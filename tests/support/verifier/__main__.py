"""Verifies a store, or one run of it, from the command line."""

import sys
from pathlib import Path

from tests.support.verifier.whole import verify

VERDICTS = {
    0: "VERIFIED",
    10: "VERIFIED, but not the annotations",
    2: "USAGE",
    3: "COULD NOT RUN",
    20: "INVALID",
    30: "INCOMPLETE",
}


def main(arguments: list[str]) -> int:
    """Print the verdict, the counts and every finding; return the exit status."""
    if len(arguments) not in {2, 3}:
        print("usage: python -m tests.support.verifier FOLDER KEYS [RUN_ID]", file=sys.stderr)
        return 2
    outcome = verify(Path(arguments[0]), Path(arguments[1]), arguments[2] if len(arguments) == 3 else None)
    print(VERDICTS[outcome.exit_status], " ".join(f"{name}={count}" for name, count in outcome.counts.items()))
    if outcome.trouble:
        print(outcome.trouble)
    for code, run, seq in outcome.findings + outcome.remarks:
        print(code, "-" if run is None else ascii(run)[1:-1], "-" if seq is None else seq)
    return outcome.exit_status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
