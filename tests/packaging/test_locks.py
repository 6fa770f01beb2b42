"""The locks agree with pyproject.toml and with one another, pin by hash, and name no host."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.layout.tree import ROOT

LOCKS = ("runtime", "dev", "demo", "installer")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WANTED = {
    "runtime": PROJECT["dependencies"],
    "dev": PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"],
    "demo": PROJECT["dependencies"] + PROJECT["optional-dependencies"]["demo"],
    "installer": ["uv"],
}
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)((?: ;[^\\]*)?)((?: \\\n    --hash=sha256:[0-9a-f]{64})*)$", re.MULTILINE)


def text(lock: str) -> str:
    """A lock as it is written."""
    return (ROOT / "requirements" / f"{lock}.lock").read_text()


def pins(lock: str) -> dict[str, Version]:
    """Each package of a lock and its version."""
    return {canonicalize_name(name): Version(version) for name, version, _, _ in PIN.findall(text(lock))}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_of_a_lock_is_a_pin_with_hashes(lock: str) -> None:
    left = PIN.sub(lambda pin: "" if pin[4] else pin[0], text(lock))
    assert [line for line in left.splitlines() if line and not line.startswith("#")] == []
    assert pins(lock)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_host_and_no_folder(lock: str) -> None:
    assert not re.search(r"://|^-|file:|--(?:extra-)?index|find-links", text(lock), re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_what_the_project_asks_for(lock: str) -> None:
    pinned = pins(lock)
    for wanted in map(Requirement, WANTED[lock]):
        assert pinned[canonicalize_name(wanted.name)] in wanted.specifier, f"{wanted}: run `make lock`"


@pytest.mark.parametrize("lock", ["runtime", "demo", "installer"])
def test_a_lock_agrees_with_the_one_tests_run_on(lock: str) -> None:
    tested = pins("dev")
    assert {name: pin for name, pin in pins(lock).items() if tested.get(name, pin) != pin} == {}


@pytest.mark.parametrize("asked", [each for group in WANTED.values() for each in group if each != "uv"])
def test_every_dependency_is_bounded_on_both_sides(asked: str) -> None:
    operators = {each.operator for each in Requirement(asked).specifier}
    assert operators == {">=", "<"}
