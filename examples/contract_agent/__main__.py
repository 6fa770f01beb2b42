"""The contract agent's command line: `python -m examples.contract_agent --tools-url URL --model-url URL`."""

from __future__ import annotations

import argparse
import io
import os
import sys
from pathlib import Path

from openai import OpenAI, OpenAIError

from examples.contract_agent.compliance import ComplianceDatabase, LookupFailed
from examples.contract_agent.contract import UnreadableContract, read_contract
from examples.contract_agent.review import review
from examples.contract_agent.wording import Conversation

CONTRACT = Path(__file__).with_name("contract.txt")
EXAMPLES = (
    "\n\n9. Price. The customer shall pay within thirty days of the invoice."
    "\nPlain words: The customer pays each invoice within thirty days."
)
PROMPTS = {
    "v1": "You are a careful contract reviewer. Say in one short sentence what each clause asks for." + EXAMPLES,
    "v2": "You are a strict contract reviewer. Say in one short sentence what each clause asks for." + EXAMPLES,
}


def options(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; the two addresses may come from the environment."""
    parser = argparse.ArgumentParser(prog="contract_agent", description="Reads a contract and gives a verdict.")
    parser.add_argument("contract", nargs="?", type=Path, default=CONTRACT)
    parser.add_argument("--model-url", help="an OpenAI-compatible address (default: OPENAI_BASE_URL)")
    parser.add_argument("--model", default="gemma-3-270m", help="the model to ask for")
    parser.add_argument(
        "--tools-url",
        default=os.environ.get("CONTRACT_TOOLS_URL"),
        help="the compliance database (default: CONTRACT_TOOLS_URL)",
    )
    parser.add_argument("--prompt", choices=sorted(PROMPTS), default="v1", help="one of the kept system prompts")
    parser.add_argument("--system-prompt", help="another system prompt")
    parser.add_argument("--skip-lookup", action="store_true", help="leave the compliance look-up out")
    given = parser.parse_args(argv)
    if not given.tools_url:
        parser.error("say where the compliance database is: --tools-url URL")
    return given


def main(argv: list[str] | None = None) -> int:
    """Review one contract; 0 with a verdict, 1 without one, 2 for a bad command line."""
    given = options(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)
    try:
        contract = read_contract(given.contract.read_text(encoding="utf-8"))
        client = OpenAI(base_url=given.model_url)
        with client, ComplianceDatabase(given.tools_url) as database:
            model = Conversation(client, given.model)
            model.instruct(given.system_prompt or PROMPTS[given.prompt])
            review(contract, model, database, print, look_up=not given.skip_lookup)
    except (OSError, UnreadableContract, LookupFailed, OpenAIError) as error:
        print(f"no verdict: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
