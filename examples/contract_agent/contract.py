"""Reads a contract: a document id, a jurisdiction code, and numbered clauses with a heading each."""

from __future__ import annotations

import re
from dataclasses import dataclass

CLAUSE = re.compile(r"^(\d+)\. ([A-Z][A-Za-z ]*)\. (.+)$")


class UnreadableContract(ValueError):
    """The text is not a contract that this agent can read."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: its number, its heading and what it says."""

    number: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract: the document's id, the code of the law that governs it, the clauses in order."""

    document: str
    jurisdiction: str
    clauses: tuple[Clause, ...]


def read_contract(text: str) -> Contract:
    """Read a contract from its text; raises UnreadableContract when a part is missing."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = dict(line.split(": ", 1) for line in lines if line.startswith(("Document: ", "Jurisdiction: ")))
    found = (CLAUSE.match(line) for line in lines)
    clauses = tuple(Clause(int(match[1]), match[2], match[3]) for match in found if match)
    if set(named) != {"Document", "Jurisdiction"} or not clauses:
        raise UnreadableContract("a contract needs a Document line, a Jurisdiction line and numbered clauses")
    return Contract(named["Document"], named["Jurisdiction"], clauses)
