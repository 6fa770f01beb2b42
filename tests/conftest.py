"""What every test gets: an environment of its own, the seed of this run, and its share of large counts."""

import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import hypothesis
import pytest

from tests.support.sample import MEASURED, Sample

pytest_plugins = ["tests.support.fixtures"]

ROOT = Path(__file__).parent.parent
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")

hypothesis.settings.register_profile("sample", deadline=None, max_examples=60, print_blob=True)
hypothesis.settings.register_profile("soak", deadline=None, max_examples=2000, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --seed and --soak."""
    group = parser.getgroup("edgetape")
    group.addoption("--seed", type=int, help="the seed of all sampled cases; a new one each run by default")
    group.addoption("--soak", action="store_true", help="do the full counts and write docs/soak.md")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the run's seed once, for our own samples and for hypothesis."""
    if config.option.seed is None:
        config.option.seed = random.SystemRandom().randrange(1_000_000)
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = config.option.seed
    hypothesis.settings.load_profile("soak" if config.option.soak else "sample")


def pytest_report_header(config: pytest.Config) -> str:
    """Say how to repeat this run."""
    return f"seed: {config.option.seed} (repeat with --seed {config.option.seed})"


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Sample:
    """This test's share of large counts."""
    options = request.config.option
    return Sample(options.seed, options.soak, cast(pytest.Item, request.node))


@pytest.fixture(scope="session")
def private_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new path each time; nothing is made there before something writes to it."""
    base = tmp_path_factory.mktemp("homes")
    return (base / str(number) for number in range(10**9))


@pytest.fixture(autouse=True)
def own_environment(private_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's own stores, settings and proxies out of every test."""
    home = next(private_homes)
    for kind in ("DATA", "CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    for name in list(os.environ):
        if name.upper() in PROXY_VARIABLES or name.startswith("EDGETAPE_"):
            monkeypatch.delenv(name)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """Print what tests measured; a soak that passed keeps it."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    figures = [
        (report.nodeid, str(sentence))
        for report in reports
        for name, sentence in report.user_properties
        if name == MEASURED
    ]
    if figures:
        terminalreporter.section("measured")
        for test, sentence in figures:
            terminalreporter.write_line(f"{test}: {sentence}")
    if config.option.soak and exitstatus == pytest.ExitCode.OK:
        write_soak(config.option.seed, len(reports), figures)


def write_soak(seed: int, tests: int, figures: list[tuple[str, str]]) -> None:
    """Write docs/soak.md: when, with which seed, how many, and each figure."""
    lines = [
        "# The last soak",
        "",
        "Written by `make soak`, which runs every test with its full counts.",
        "",
        f"- date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"- seed: {seed}",
        f"- tests run: {tests}",
        "",
        "| test | measured |",
        "|---|---|",
        *(f"| `{test}` | {sentence} |" for test, sentence in figures),
        "",
    ]
    (ROOT / "docs").mkdir(exist_ok=True)
    (ROOT / "docs" / "soak.md").write_text("\n".join(lines))
