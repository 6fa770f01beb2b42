"""The agent's tools: look-ups in a compliance database over Datasette's JSON API."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Self

import httpx


class LookupFailed(RuntimeError):
    """The compliance database did not answer a look-up with rows."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement that a jurisdiction makes of a contract."""

    jurisdiction: str
    topic: str
    rule: str
    severity: str


class ComplianceDatabase:
    """The tables `topics` and `requirements` of the database `compliance`."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def topics(self) -> tuple[str, ...]:
        """The headings that the database has guidance for."""
        return tuple(row["topic"] for row in self._rows("topics", {"_col": "topic"}))

    def guidance(self, topic: str) -> str:
        """What to look at in a clause of that topic."""
        rows = self._rows("topics", {"topic__exact": topic})
        return rows[0]["guidance"] if rows else "none"

    def requirements(self, jurisdiction: str) -> tuple[Requirement, ...]:
        """The requirements of a jurisdiction, by its exact code."""
        rows = self._rows("requirements", {"jurisdiction__exact": jurisdiction})
        return tuple(Requirement(row["jurisdiction"], row["topic"], row["rule"], row["severity"]) for row in rows)

    def _rows(self, table: str, where: dict[str, str]) -> list[dict[str, str]]:
        try:
            answer = self._client.get(f"/compliance/{table}.json", params={**where, "_shape": "array"})
            answer.raise_for_status()
            rows: list[dict[str, str]] = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise LookupFailed(f"{table}: {error}") from error
        return rows
