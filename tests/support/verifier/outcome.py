"""What a verification says: findings, counts and the exit status."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Finding(NamedTuple):
    code: str
    run: str | None
    seq: int | None


@dataclass
class Outcome:
    """The findings as they were made, those about annotations apart, the counts by name, and why nothing was verified.

    `unread_remarks` counts annotations that are newer, and texts that cannot be opened.
    """

    findings: list[Finding] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    newer: int = 0
    remarks: list[Finding] = field(default_factory=list)
    unread_remarks: int = 0
    trouble: str = ""
    status: int | None = None

    @property
    def exit_status(self) -> int:
        """Zero for verified, 10 where annotations are not, 20 invalid, 30 incomplete, 2 usage, 3 could not run."""
        if self.status is not None:
            return self.status
        if any(finding.code != "V001" for finding in self.findings):
            return 20
        lost = self.counts.get("GAPS") or self.counts.get("PAYLOADS_LOCKED")
        if self.newer or self.findings or lost:
            return 30
        return 10 if self.remarks or self.unread_remarks else 0

    def report(self, code: str, run: str | None = None, seq: int | None = None) -> None:
        """Keep one finding."""
        self.findings.append(Finding(code, run, seq))

    def count(self, name: str, more: int = 1) -> None:
        """Add to a count."""
        self.counts[name] = self.counts.get(name, 0) + more
