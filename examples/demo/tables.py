"""What the demo's compliance database says: requirements of GB and others, none of GB-SCT."""

from __future__ import annotations

from tests.support.tables import Tables

TOPICS = (
    ("Data", "ask where the records are kept and who may move them"),
    ("Liability", "compare the limit with the value of the records"),
    ("Term", "see whether the notice leaves time to move away"),
)
REQUIREMENTS = (
    ("GB", "Data", "records of public bodies stay in the United Kingdom", "high"),
    ("GB", "Liability", "liability for death or injury cannot be limited", "medium"),
    ("FR", "Data", "health records stay with certified hosts", "high"),
    ("IE", "Term", "renewal needs a notice in writing", "low"),
)


def compliance_tables() -> Tables:
    """The tables as rows by `DATABASE/TABLE`, for the scripted provider."""
    columns = ("jurisdiction", "topic", "rule", "severity")
    numbered = enumerate(REQUIREMENTS, start=1)
    return {
        "compliance/topics": [{"topic": topic, "guidance": guidance} for topic, guidance in TOPICS],
        "compliance/requirements": [{"id": number, **dict(zip(columns, row, strict=True))} for number, row in numbered],
    }
