"""The contract agent against real servers: what it asks, what it decides, and that it repeats itself."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from examples.contract_agent.compliance import Requirement
from examples.contract_agent.contract import UnreadableContract, read_contract
from examples.contract_agent.review import verdict
from examples.demo.tables import compliance_tables
from tests.support.processes import ROOT, running_module
from tests.support.provider import Options, Provider, serving
from tests.support.wire import Request

LOOKUP = "/compliance/requirements.json?jurisdiction__exact=GB-SCT&_shape=array"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of the agent printed and asked for."""

    stdout: bytes
    stderr: str
    code: int
    asked: tuple[Request, ...]


def run_agent(provider: Provider, *arguments: str, env: Mapping[str, str] | None = None) -> Outcome:
    """Run the agent as a process whose model and tools are both this provider."""
    provider.forget()
    addresses = ["--model-url", f"{provider.url}/v1", "--tools-url", provider.url]
    done = subprocess.run(
        [sys.executable, "-m", "examples.contract_agent", *addresses, *arguments],
        cwd=ROOT,
        env=_environment(env or {}),
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Outcome(done.stdout, done.stderr.decode(), done.returncode, provider.seen())


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "OPENAI_API_KEY": "not-a-key", **more}


@contextmanager
def told(jurisdiction: str) -> Iterator[Provider]:
    """A provider whose database has GB's requirements under this code."""
    tables = dict(compliance_tables())
    rows = [{**row, "jurisdiction": jurisdiction} for row in tables["compliance/requirements"]]
    with serving(Options(tables={**tables, "compliance/requirements": rows})) as provider:
        yield provider


@pytest.fixture
def scripted() -> Iterator[Provider]:
    with serving(Options(tables=compliance_tables())) as provider:
        yield provider


def test_the_compliance_lookup_is_exchange_eight_and_finds_nothing(scripted: Provider) -> None:
    outcome = run_agent(scripted)
    assert outcome.code == 0, outcome.stderr
    assert len(outcome.asked) == 12
    assert outcome.asked[7].target == LOOKUP
    assert b"requirements of GB-SCT: 0 found" in outcome.stdout
    assert outcome.stdout.endswith(b"verdict: low risk\n")


def test_it_asks_model_and_tools_in_turn_and_streams_every_model_call(scripted: Provider) -> None:
    asked = run_agent(scripted).asked
    kinds = "".join("m" if request.method == "POST" else "t" for request in asked)
    assert kinds == "tmmtmtmtmtmm"
    assert all(b'"stream":true' in request.body for request in asked if request.method == "POST")


def test_rows_for_the_exact_code_make_it_a_high_risk() -> None:
    with told("GB-SCT") as provider:
        outcome = run_agent(provider)
    assert outcome.stdout.endswith(b"verdict: high risk\n")


def test_equal_answers_give_equal_bytes_out_and_equal_requests(scripted: Provider) -> None:
    first, second = run_agent(scripted), run_agent(scripted, env={"PYTHONHASHSEED": "7"})
    assert first.stdout == second.stdout
    assert [(one.line, one.body) for one in first.asked] == [(one.line, one.body) for one in second.asked]


def test_skipping_the_lookup_changes_nothing_else_that_is_asked(scripted: Provider) -> None:
    whole, without = run_agent(scripted), run_agent(scripted, "--skip-lookup")
    kept = [(one.line, one.body) for one in whole.asked if one.target != LOOKUP]
    assert [(one.line, one.body) for one in without.asked] == kept
    assert len(without.asked) == len(whole.asked) - 1


def test_the_second_prompt_differs_from_the_first_by_one_word(scripted: Provider) -> None:
    first, second = run_agent(scripted).asked[1].body, run_agent(scripted, "--prompt", "v2").asked[1].body
    differing = set(first.split()) ^ set(second.split())
    assert differing == {b"careful", b"strict"}


def test_a_system_prompt_of_ones_own_reaches_the_model(scripted: Provider) -> None:
    assert b"Answer in rhyme." in run_agent(scripted, "--system-prompt", "Answer in rhyme.").asked[1].body


def test_a_tool_that_fails_leaves_no_verdict(scripted: Provider) -> None:
    scripted.arm("status/500", "/compliance/requirements.json")
    outcome = run_agent(scripted)
    assert outcome.code == 1
    assert "no verdict: requirements:" in outcome.stderr
    assert b"verdict:" not in outcome.stdout


def test_the_addresses_may_come_from_the_environment(scripted: Provider) -> None:
    named = {"OPENAI_BASE_URL": f"{scripted.url}/v1", "CONTRACT_TOOLS_URL": scripted.url}
    done = subprocess.run(
        [sys.executable, "-m", "examples.contract_agent"],
        cwd=ROOT,
        env=_environment(named),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == run_agent(scripted).stdout


@pytest.mark.skipif(importlib.util.find_spec("datasette") is None, reason="datasette comes with the demo extra")
def test_a_real_datasette_answers_as_the_scripted_tables_do(scripted: Provider, tmp_path: Path) -> None:
    expected = run_agent(scripted).stdout
    with running_module("examples.demo.tools", "--folder", str(tmp_path)) as tools:
        env = {"SSL_CERT_FILE": str(tools.ready["ca"])}
        outcome = run_agent(scripted, "--tools-url", tools.url, env=env)
    assert outcome.stdout == expected, outcome.stderr
    assert all(request.method == "POST" for request in outcome.asked)


def test_the_rule_needs_one_requirement_of_high_severity() -> None:
    medium = Requirement("GB", "Data", "keep", "medium")
    assert verdict([]) == "low risk"
    assert verdict([medium]) == "low risk"
    assert verdict([medium, Requirement("GB", "Data", "keep", "high")]) == "high risk"


def test_a_text_without_clauses_is_no_contract() -> None:
    with pytest.raises(UnreadableContract, match="numbered clauses"):
        read_contract("Document: A-1\nJurisdiction: GB\n")
