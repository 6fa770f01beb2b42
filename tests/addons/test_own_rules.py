"""A company's own rules on record: what they said, and which they were."""

from dataclasses import replace
from pathlib import Path

import pytest

from store.core.model import HttpResponse, RunOpen
from store.labels.own import OwnRules, parsed
from store.verify import Terms, verify
from tests.addons.raw import ask, get
from tests.addons.recording import recording
from tests.support.provider import Provider

RULES = parsed(
    {"rules": [{"host": "127.0.0.1", "path": "/orders*", "tool": "order", "effect": "write", "receipt": "/target"}]}
)


async def test_what_the_rules_said_is_on_record_with_their_digest_and_verifies(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recording(tmp_path, own_rules=RULES) as made:
        for path in ("/orders/1", "/other"):
            await ask(made.recorder.port, get(provider.url + path, b"X-Edgetape-Run: a"))
        ours, other = made.exchanges("a")
        assert (ours.facts.tool, ours.facts.effect, ours.facts.rules) == ("order", "write", RULES.version)
        assert isinstance(ours.response, HttpResponse)
        assert (ours.response.receipt, ours.response.rules) == ("/orders/1", RULES.version)
        assert other.facts.effect == "read"
        opened = made.facts("a")[0]
        assert isinstance(opened, RunOpen)
        assert opened.policies.classification == RULES.version
        # Other rules are for runs that are opened from then on.
        made.recorder.tell(replace(made.recorder._options, own_rules=parsed({})))
        await ask(made.recorder.port, get(provider.url + "/orders/2", b"X-Edgetape-Run: a"))
        await ask(made.recorder.port, get(provider.url + "/orders/2", b"X-Edgetape-Run: b"))
        assert [each.facts.tool for each in made.exchanges("a")] == ["order", "other", "order"]
        assert made.exchanges("b")[0].facts.tool == "orders"
    verdict = verify(tmp_path / "store", tmp_path / "keys", terms=Terms(deep=True))
    assert (verdict.findings, verdict.exit_code) == ((), 0)
    assert (dict(verdict.flags)["FACTS_UNCHECKED"] or 0) >= 2
    # Where they are at hand, what they said is judged as well.
    told = Terms(deep=True, own=(RULES,))
    verdict = verify(tmp_path / "store", tmp_path / "keys", terms=told)
    assert (verdict.findings, "FACTS_UNCHECKED" in dict(verdict.flags)) == ((), False)
    monkeypatch.setattr(OwnRules, "version", RULES.version)  # others under the name of these
    lying = parsed({"rules": [{"host": "127.0.0.1", "path": "/orders*", "tool": "refund"}]})
    verdict = verify(tmp_path / "store", tmp_path / "keys", terms=Terms(deep=True, own=(lying,)))
    assert {finding.code for finding in verdict.findings} == {"V620"}
