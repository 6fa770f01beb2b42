"""What every test gets: an environment of its own, the seed of this run, and its share of large counts."""

import os
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import hypothesis
import pytest

from tests.support import soak
from tests.support.sample import MEASURED, Sample

pytest_plugins = ["tests.support.fixtures"]

ROOT = Path(__file__).parent.parent
_BEGAN = pytest.StashKey[float]()
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
    """Choose the run's seed once, for our own samples and for hypothesis; let commands be compiled once."""
    config.stash[_BEGAN] = time.time()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each command that a test starts compiles all it loads
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
    """Keep the user's own stores, settings and proxies out of every test, and whether a CI runs it."""
    home = next(private_homes)
    for kind in ("DATA", "CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    for name in list(os.environ):
        if name.upper() in PROXY_VARIABLES or name.startswith("EDGETAPE_") or name == "CI":
            monkeypatch.delenv(name)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what tests measured; a soak keeps it."""
    failed = {report.nodeid for kind in ("failed", "error") for report in terminalreporter.getreports(kind)}
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    figures: dict[str, list[str]] = {}
    for report in reports:
        for name, sentence in report.user_properties:
            if name == MEASURED and str(sentence) not in figures.setdefault(report.nodeid, []):
                figures[report.nodeid].append(str(sentence))
    if figures:
        terminalreporter.section("measured")
        for test, sentences in figures.items():
            terminalreporter.write_line(f"{test}: {'; '.join(sentences)}")
    if config.option.soak and reports:
        _write_soak(config, {report.nodeid for report in reports}, failed, figures)


def _write_soak(config: pytest.Config, ran: set[str], failed: set[str], figures: dict[str, list[str]]) -> None:
    """Write docs/soak.md, whether all went well or not: each figure, and each test that failed."""
    date, seed = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", config.option.seed
    paths = [argument for argument in config.invocation_params.args if str(argument).startswith("tests")]
    minutes = (time.time() - config.stash[_BEGAN]) / 60
    run = soak.Run(date, seed, " ".join(map(str, paths)) or "all tests", len(ran), tuple(sorted(failed)), minutes)
    rows = [
        soak.Row(test, "failed" if test in failed else "passed", "; ".join(figures.get(test, ())), seed, date)
        for test in sorted({*figures, *failed})
    ]
    path = ROOT / "docs" / "soak.md"
    path.write_text(soak.page(path.read_text() if path.exists() else "", run, rows))
