"""The review itself: clause by clause, then a verdict by a rule over the requirements that were found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from examples.contract_agent.compliance import ComplianceDatabase, Requirement
from examples.contract_agent.contract import Clause, Contract
from examples.contract_agent.wording import Conversation

LAW = "Governing law"


def verdict(requirements: Sequence[Requirement]) -> str:
    """The agent's own rule: one requirement of high severity makes a contract a high risk."""
    return "high risk" if any(row.severity == "high" for row in requirements) else "low risk"


def review(
    contract: Contract,
    model: Conversation,
    database: ComplianceDatabase,
    say: Callable[[str], None],
    look_up: bool = True,
) -> str:
    """Read the contract, saying each step as one line, and give the verdict.

    Raises LookupFailed or openai.OpenAIError when a tool or the model gives no answer.
    """
    count = len(contract.clauses)
    say(f"contract {contract.document}, jurisdiction {contract.jurisdiction}, {count} clauses")
    topics = database.topics()
    found: tuple[Requirement, ...] = ()
    for clause in contract.clauses:
        say(f"clause {clause.number}, {clause.heading}: {model.ask(_question(contract, clause))}")
        if clause.heading == LAW and look_up:
            found = database.requirements(contract.jurisdiction)
            say(f"  requirements of {contract.jurisdiction}: {_listed(found)}")
        elif clause.heading in topics:
            say(f"  guidance: {database.guidance(clause.heading)}")
    decided = verdict(found)
    words = model.ask(f"Result. By its rule the review finds {contract.document} to be a {decided}.\nPlain words:")
    say(f"in plain words: {words}")
    say(f"verdict: {decided}")
    return decided


def _question(contract: Contract, clause: Clause) -> str:
    heard = f"Contract {contract.document}, {contract.jurisdiction}.\n" if clause.number == 1 else ""
    return f"{heard}{clause.number}. {clause.heading}. {clause.text}\nPlain words:"


def _listed(requirements: Sequence[Requirement]) -> str:
    rules = "; ".join(f"{row.topic}: {row.rule} ({row.severity})" for row in requirements)
    return f"{len(requirements)} found" + (f" ({rules})" if rules else "")
